"""The task `adversarial` (section 4.3, Table 4): evaluators distinguish a model's continuations from human ones."""

from __future__ import annotations

from weft.evaluation.adversarial.experiment import AdversarialExperiment
from weft.evaluation.adversarial.options import adversarial_settings
from weft.evaluation.evaluated_models import Control
from weft.evaluation.task_contract import DataFile, EvaluateOptions, Outcome, Subject
from weft.generation.writing_models import bulk_writing_model
from weft.progress import Progress
from weft.training.devices import start_runtime


def measure_adversarial(subject: Subject, data: DataFile, options: EvaluateOptions, progress: Progress) -> Outcome:
    """Write continuations with a model, or take those of a control, and train evaluators to detect them.

    Raises:
        ConfigError: A setting is wrong, or the model cannot write.
    """
    model = subject.model
    decoding, evaluator = adversarial_settings(options.settings)
    if not isinstance(model, Control):
        bulk_writing_model(model, subject.name).bulk_writer()  # raises at once if the model cannot write
    with start_runtime(options.device) as runtime:
        experiment = AdversarialExperiment(data.path, options, evaluator, runtime, progress)
        if isinstance(model, Control):
            return experiment.evaluate_control(model.name)
        model.to(runtime.device)
        continuations = experiment.write(model, subject.name, model.combine, decoding)
        model.to("cpu")
        runtime.release()  # a search for 512 contexts holds 10 GiB of memory that evaluators need
        return experiment.evaluate_continuations(continuations, decoding)
