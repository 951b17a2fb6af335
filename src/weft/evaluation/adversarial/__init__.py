"""Adversarial evaluation (section 4.3, Table 4): chunks, continuations, evaluators, verdicts, result.

The steps: `chunks` selects contexts; `writing` and `continuations` write continuations with a model;
`labelled_chunks` and `controls` join human and machine continuations; `network_evaluator` and `tree_evaluator` learn
to distinguish them; `verdicts` computes AdverSuc. `experiment` runs the steps, and `measure` is the task that
`weft evaluate adversarial` runs.
"""
