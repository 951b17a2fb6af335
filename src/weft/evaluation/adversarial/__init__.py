"""Adversarial evaluation (section 4.3, Table 4): chunks, continuations, evaluators, verdicts, result.

The files follow the flow: `chunks` selects contexts; `writing` and `continuations` let a model continue them;
`labelled_chunks` and `controls` put human and machine continuations side by side; `network_evaluator` and
`tree_evaluator` learn to tell them apart; `verdicts` computes AdverSuc; `experiment` joins the steps,
and `measure` is the task that `weft evaluate adversarial` runs.
"""
