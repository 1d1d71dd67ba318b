//! A new lesson to start from: small, complete, and valid.

/// The file of a new lesson.
pub fn lesson(id: &str, title: &str) -> String {
    format!(
        r#"# yaml-language-server: $schema=../../assets/lesson.schema.json
id: {id}
title: {title:?}
minutes: 5
level: beginner
requires: []
objectives:
  - State in one sentence what a learner can do after this lesson.
steps:
  - id: guess
    kind: predict
    title: Guess first
    text: |
      How long does one training step of the baseline take on this machine, in milliseconds?
    measure: baseline.total_ms
    golden:
      number: 100

  - id: baseline
    kind: run
    title: Measure it
    text: |
      This trains the baseline for twenty counted steps.
    target: v1
    flags: --config tiny --num-steps 20
    checks:
      - id: learns
        measure: baseline.final_loss / baseline.first_loss
        at_most: 0.99
        passed: The loss falls, so the model learns.
        not_yet: The loss does not fall. Look at the loss curve and the log of the run.
    hints:
      - text: The loss is in the last column of each step's line.
      - text: A loss that stays where it is means that no gradient reaches the weights.
        after: learns

  - id: seen
    kind: quiz
    title: What was measured
    text: |
      The median step took {{{{ baseline.total_ms }}}}. Why the median and not the mean?
    choices:
      - text: One slow step moves the mean, but hardly the median.
        correct: true
        because: The median only asks how many steps were slower, not by how much.
      - text: The median needs no sorting, so it is much easier to compute.
        because: It needs sorting; the mean is the easier one.
"#
    )
}
