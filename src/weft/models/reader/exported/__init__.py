"""Exported readers: ONNX graphs, how they are written, and how they run in onnxruntime."""
