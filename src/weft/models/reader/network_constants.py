"""Constants of the reader's network, shared by PyTorch and onnxruntime, and the names of exported files."""

from __future__ import annotations

NORM_EPSILON = 1e-12  # of BERT
HEAD_NORM_EPSILON = 1e-5
RATE = 4.0  # how much faster than the encoder the heads learn
FEW = -1e4  # log-odds of what is impossible; finite in 16 bits, so that no gradient becomes NaN
LINK_ODDS = 0.3  # weight of the precedence of neighbours in the loss of exchanges, about what validation texts choose
GAP_SCORES = 4
GAP_LIMIT = 20.0  # larger scores of a gap are cut
EVIDENCE = 10  # values that say how well a sentence fits anywhere in its text
STRAY_SCORES = 3 * GAP_SCORES + EVIDENCE  # of a sentence: the gaps before, after and without it, and its evidence
NO_STRAY = -20.0  # log-odds that the only sentence of a text is a stray
SMALLEST_DEVIATION = 1e-3  # of log-likelihoods

SENTENCES, TEXT, BREAKS = "sentences.onnx", "text.onnx", "breaks.onnx"
# Inputs of each exported graph.
GRAPHS = {
    SENTENCES: ("ids", "positions", "rows", "back", "mask"),
    TEXT: ("states", "slots", "firsts", "shares"),
    BREAKS: ("vectors", "odds", "follows", "order"),
}
SURPRISES = "surprises"  # an output of the text graph, if the network has the head
STRAYS = "strays"  # likewise of the graph of breaks
