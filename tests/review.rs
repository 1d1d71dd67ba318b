//! A new user once walked through every screen and command, and found 28 defects. This list names the tests that
//! cover each of them.

mod common;

use std::collections::BTreeSet;
use std::path::Path;

use common::{stdout, tutor};

/// File and name of a test.
type Test = (&'static str, &'static str);

/// Number and description of the defect, and the tests.
const HELD: &[(u8, &str, &[Test])] = &[
    (
        1,
        "a forged hand-in counts as intact",
        &[(
            "tests/trust/forged.rs",
            "forged_work_is_named_in_every_form_of_a_hand_in",
        )],
    ),
    (
        2,
        "two people become one",
        &[
            (
                "tests/trust/class_page.rs",
                "a_class_goes_by_folders_and_chains_not_by_recorded_names",
            ),
            (
                "tests/trust.rs",
                "without_a_user_in_the_environment_the_password_database_has_the_name",
            ),
        ],
    ),
    (
        3,
        "questions give themselves away",
        &[
            (
                "tests/quizzes.rs",
                "answers_without_reading_pass_no_more_than_by_chance",
            ),
            (
                "tests/quizzes.rs",
                "lint_refuses_questions_that_give_themselves_away_or_leave_one_alone",
            ),
        ],
    ),
    (
        4,
        "samples of profiles cannot be reached",
        &[(
            "src/ui/tui/update/tests.rs",
            "enter_imports_the_sample_of_a_profile_step_without_its_tool",
        )],
    ),
    (
        5,
        "figures, checks and lost runs are gone after a restart",
        &[
            (
                "src/ui/tui/update/tests/runs.rs",
                "verdicts_are_shown_again_after_a_restart",
            ),
            (
                "tests/terminal.rs",
                "the_first_key_trains_the_model_and_what_was_seen_is_seen_again",
            ),
            (
                "tests/terminal.rs",
                "a_run_that_was_lost_is_named_where_it_was_made",
            ),
        ],
    ),
    (
        6,
        "an export of nothing leaves an empty file without a word",
        &[(
            "tests/profiler_export.rs",
            "trace_and_comparison_from_the_command_line",
        )],
    ),
    (
        7,
        "the first lesson fails when obeyed",
        &[(
            "tests/terminal.rs",
            "the_tutors_shell_finds_this_program_wherever_it_lies",
        )],
    ),
    (
        8,
        "mistakes are found after runs were made",
        &[(
            "tests/analysis.rs",
            "mistakes_are_found_before_the_first_run",
        )],
    ),
    (
        9,
        "messages lose their remedy at 80 columns",
        &[(
            "src/ui/tui/update/tests/reading.rs",
            "a_long_message_keeps_its_end_at_80_columns",
        )],
    ),
    (
        10,
        "charts cannot be read off",
        &[
            (
                "src/ui/tui/widgets/plot/axis.rs",
                "ends_are_short_whatever_they_are",
            ),
            (
                "src/ui/tui/widgets/plot/mod.rs",
                "a_curve_rises_to_the_right_between_labelled_axes",
            ),
        ],
    ),
    (
        11,
        "labels of a comparison mean nothing",
        &[(
            "src/ui/tui/panels/compare/tests.rs",
            "three_runs_side_by_side",
        )],
    ),
    (
        12,
        "the end of a run jumps away from its figures",
        &[
            (
                "src/ui/tui/update/tests/runs.rs",
                "the_figures_stay_when_a_run_ends_and_enter_goes_on_from_them",
            ),
            (
                "src/ui/tui/run_view/tests.rs",
                "a_stop_by_the_learner_is_no_failure_and_an_open_kernel_shows_its_parts",
            ),
        ],
    ),
    (
        13,
        "the kernel table hides the culprit",
        &[(
            "src/ui/tui/run_view/tests.rs",
            "kernels_are_sorted_by_what_was_asked_for",
        )],
    ),
    (
        14,
        "the very same command is called faster",
        &[(
            "src/ui/tui/panels/compare/tests.rs",
            "the_same_command_is_never_called_faster",
        )],
    ),
    (
        15,
        "texts of checks are not Markdown",
        &[(
            "src/ui/tui/update/tests/reading.rs",
            "words_of_checks_are_markdown_and_a_bar_names_no_key_twice",
        )],
    ),
    (
        16,
        "writing: keys named twice, words broken, Ctrl-U undoes",
        &[
            (
                "src/ui/tui/update/tests/reading.rs",
                "words_of_checks_are_markdown_and_a_bar_names_no_key_twice",
            ),
            (
                "src/ui/tui/update/tests/reading.rs",
                "ctrl_u_clears_what_was_typed",
            ),
        ],
    ),
    (
        17,
        "bars of a comparison change only their label",
        &[(
            "src/ui/tui/panels/compare/tests.rs",
            "three_runs_side_by_side",
        )],
    ),
    (
        18,
        "links cannot be followed",
        &[(
            "src/ui/tui/update/tests/reading.rs",
            "links_open_pages_that_can_be_searched_and_lead_back_and_words_are_explained",
        )],
    ),
    (
        19,
        "help begins somewhere else",
        &[(
            "src/ui/tui/update/tests.rs",
            "a_palette_without_a_match_stays_and_help_begins_with_where_one_is",
        )],
    ),
    (
        20,
        "the outline begins on a heading, locked reads as failed",
        &[("src/ui/tui/view/tests.rs", "outline")],
    ),
    (
        21,
        "the palette closes without a match",
        &[(
            "src/ui/tui/update/tests.rs",
            "a_palette_without_a_match_stays_and_help_begins_with_where_one_is",
        )],
    ),
    (
        22,
        "a wrong number is `not so` for ever",
        &[(
            "tests/quizzes.rs",
            "every_wrong_number_is_told_a_reason_or_a_hint_and_the_third_the_way",
        )],
    ),
    (
        23,
        "the instructor's screen",
        &[
            (
                "src/ui/tui/instructor_screen/tests.rs",
                "keys_come_to_the_deeds_they_name",
            ),
            (
                "src/ui/tui/instructor_screen/tests.rs",
                "everybody_is_seen_at_every_size_in_every_look",
            ),
            (
                "src/ui/tui/runtime/session_writer.rs",
                "an_instructors_reset_reaches_the_open_tutor_within_two_seconds",
            ),
        ],
    ),
    (
        24,
        "tables tear, diagrams of nothing are drawn",
        &[
            (
                "tests/analysis.rs",
                "tables_fit_a_narrow_terminal_and_leave_out_what_nothing_reported",
            ),
            (
                "src/base/roofline/mod.rs",
                "without_a_point_that_has_a_place_there_is_no_picture",
            ),
        ],
    ),
    (
        25,
        "a played recording has no kernels and no summary, a list the same words nine times",
        &[
            ("tests/frozen.rs", "documents_without_a_run_are_frozen"),
            ("tests/review.rs", "recordings_are_told_apart_in_their_list"),
        ],
    ),
    (
        26,
        "TERM=dumb gets the full screen, a spinner stays",
        &[
            (
                "tests/terminal/lines.rs",
                "a_terminal_that_cannot_place_its_cursor_gets_lines",
            ),
            (
                "tests/terminal/endings.rs",
                "a_spinner_is_gone_after_ctrl_c",
            ),
        ],
    ),
    (
        27,
        "a paste becomes thousands of keys",
        &[(
            "tests/terminal.rs",
            "a_paste_that_is_not_announced_is_one_event_and_no_thousand_keys",
        )],
    ),
    (
        28,
        "a roofline without a roof, labels cut",
        &[(
            "src/ui/tui/panels/roofline/tests.rs",
            "points_under_their_roof",
        )],
    ),
];

#[test]
fn every_defect_of_the_review_is_held_by_a_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let numbers: Vec<u8> = HELD.iter().map(|(number, ..)| *number).collect();
    assert_eq!(numbers, (1..=28).collect::<Vec<_>>());
    for (number, what, tests) in HELD {
        assert!(!tests.is_empty(), "{number}: {what}");
        for (file, name) in *tests {
            let test = has_test(&root.join(file), name);
            assert!(test, "{number}, {what}: {file} has no test `{name}`");
        }
    }
}

/// The same of a later walk, which went through the terminal only. Numbers that are missing have no test that drives the
/// program.
const OF_THE_TERMINAL: &[(u8, &str, &[Test])] = &[
    (
        1,
        "bash completes nothing after the first word",
        &[
            (
                "tests/completions.rs",
                "bash_completes_flags_and_their_values_after_a_subcommand",
            ),
            (
                "tests/completions.rs",
                "bash_completes_the_names_of_targets_lessons_and_recordings",
            ),
        ],
    ),
    (
        2,
        "a guess about this machine is held against a recording",
        &[(
            "tests/report.rs",
            "a_guess_about_this_machine_is_not_held_against_a_recording",
        )],
    ),
    (
        3,
        "120 columns with figures cannot be read",
        &[
            (
                "src/ui/tui/view/tests.rs",
                "the_outline_folds_away_beside_figures",
            ),
            ("tests/terminal/sizes.rs", "every_screen_at_120_columns"),
        ],
    ),
    (
        4,
        "reset and unlock act on one learner",
        &[
            (
                "tests/instructor/orders.rs",
                "orders_reach_several_learners_or_everyone",
            ),
            (
                "src/ui/tui/instructor_screen/tests.rs",
                "a_decision_applies_to_every_marked_learner",
            ),
        ],
    ),
    (
        5,
        "the grid wastes a projector",
        &[(
            "src/ui/tui/instructor_screen/tests.rs",
            "the_grid_shows_whole_names_sessions_titles_totals_and_skipped_steps",
        )],
    ),
    (
        6,
        "skipped counts as done",
        &[("tests/instructor.rs", "a_skipped_step_is_not_called_done")],
    ),
    (
        7,
        "a calibration keeps 0 GB/s",
        &[(
            "tests/terminal/lines.rs",
            "a_calibration_of_a_busy_machine_is_doubted_and_no_rate_is_shown_as_zero",
        )],
    ),
    (
        8,
        "a printed command assumes ROCm 7",
        &[(
            "tests/profiler_commands.rs",
            "a_command_says_which_version_it_is_written_for",
        )],
    ),
    (
        9,
        "D leaves the screen",
        &[(
            "tests/terminal.rs",
            "the_page_about_this_machine_closes_with_escape",
        )],
    ),
    (
        10,
        "the first Enter after the first run",
        &[
            (
                "src/ui/tui/update/tests/lessons.rs",
                "the_first_page_starts_the_first_run_and_a_lesson_ends_with_a_page",
            ),
            (
                "src/ui/tui/update/tests/lessons.rs",
                "after_the_first_run_the_lesson_begins_without_a_word_about_its_end",
            ),
        ],
    ),
    (
        11,
        "a question points at what is no longer shown",
        &[(
            "src/ui/tui/view/tests.rs",
            "a_question_about_an_output_shows_what_it_asks_about_at_80x24",
        )],
    ),
    (
        12,
        "doctor within a step",
        &[
            (
                "tests/terminal.rs",
                "the_page_about_this_machine_closes_with_escape",
            ),
            (
                "src/tutor/output.rs",
                "a_document_reads_as_names_and_tables_within_the_columns_there_are",
            ),
        ],
    ),
    (
        13,
        "a pin, a reset and an unlock are seen once, by their ids",
        &[(
            "tests/terminal/changes.rs",
            "a_pinned_lesson_is_marked_has_a_key_and_stays_among_the_messages",
        )],
    ),
    (
        14,
        "a search appends to the last one",
        &[(
            "src/ui/tui/update/tests/reading.rs",
            "a_search_finds_its_word_and_says_when_there_is_none",
        )],
    ),
    (
        15,
        "texts are cut where there is room",
        &[
            (
                "src/ui/tui/update/tests/reading.rs",
                "a_long_message_keeps_its_end_at_80_columns",
            ),
            ("tests/terminal/sizes.rs", "every_screen_at_60_columns"),
        ],
    ),
    (
        16,
        "runs side by side have one heading",
        &[
            (
                "src/ui/tui/panels/compare/tests.rs",
                "the_same_command_is_never_called_faster",
            ),
            (
                "src/ui/tui/panels/compare/tests.rs",
                "a_recording_is_named_and_not_held_against_a_run_made_here",
            ),
        ],
    ),
    (
        17,
        "the end of a lesson hides Enter",
        &[("src/ui/tui/view/tests.rs", "the_end_of_a_lesson")],
    ),
    (
        18,
        "checks speak in identifiers",
        &[(
            "src/ui/tui/update/tests/reading.rs",
            "words_of_checks_are_markdown_and_a_bar_names_no_key_twice",
        )],
    ),
    (
        19,
        "the folder of a report cannot be verified",
        &[(
            "tests/report/commands.rs",
            "the_commands_write_check_and_merge",
        )],
    ),
    (
        20,
        "the report has no memory of a CPU's run",
        &[(
            "tests/terminal/lines.rs",
            "the_memory_of_a_run_on_a_cpu_is_in_the_report",
        )],
    ),
    (
        21,
        "long commands are silent",
        &[(
            "tests/terminal/lines.rs",
            "a_check_of_gradients_says_what_it_computes_while_it_works",
        )],
    ),
    (
        22,
        "a kernel's check is not seen",
        &[(
            "src/ui/tui/view/tests.rs",
            "the_result_of_a_kernel_is_shown",
        )],
    ),
    (
        23,
        "`--` is refused where others want it",
        &[(
            "tests/session_cli.rs",
            "a_separator_before_flags_is_taken_by_every_command",
        )],
    ),
    (
        24,
        "rocprof takes no arguments",
        &[(
            "tests/profiler_tools/mistakes.rs",
            "old_tools_are_answered_with_the_way_to_the_new_ones",
        )],
    ),
    (
        25,
        "names of learners",
        &[(
            "tests/terminal/changes.rs",
            "learners_have_the_letters_of_their_names_and_the_list_keeps_its_columns",
        )],
    ),
    (
        26,
        "lines are wider than the terminal",
        &[(
            "tests/terminal/lines.rs",
            "lines_break_between_words_at_the_width_of_a_narrow_terminal",
        )],
    ),
    (
        27,
        "keys of the list of kernels",
        &[(
            "src/ui/tui/panels/kernels/tests.rs",
            "kernels_listed_described_and_shown_in_source",
        )],
    ),
    (
        28,
        "digits change within a list",
        &[
            ("src/ui/tui/widgets/text.rs", "numbers_read_like_numbers"),
            (
                "src/ui/tui/widgets/plot/axis.rs",
                "ends_are_short_whatever_they_are",
            ),
        ],
    ),
    (
        29,
        "a wrong run is answered with targets",
        &[(
            "tests/session_cli.rs",
            "runs_are_listed_shown_compared_and_pruned",
        )],
    ),
    (
        30,
        "a recording has four speeds",
        &[(
            "tests/terminal/lines.rs",
            "a_recording_is_played_at_any_speed_above_zero",
        )],
    ),
    (
        31,
        "a small terminal names no way out",
        &[
            (
                "tests/terminal.rs",
                "a_terminal_that_shrinks_is_asked_for_room_and_everything_is_back_when_it_grows",
            ),
            (
                "src/ui/tui/view/tests.rs",
                "a_terminal_that_is_too_small_is_asked_for_room_in_whatever_room_there_is",
            ),
        ],
    ),
    (
        32,
        "a command's own flags come last",
        &[(
            "tests/terminal/lines.rs",
            "help_lists_a_commands_own_flags_before_those_that_it_shares",
        )],
    ),
    (
        33,
        "an unknown key does nothing",
        &[(
            "src/ui/tui/update/tests.rs",
            "a_meaningless_key_says_so_and_a_break_is_not_counted_as_work",
        )],
    ),
    (
        34,
        "one figure stands for two kinds of steps",
        &[(
            "tests/terminal/lines.rs",
            "a_summary_remarks_on_a_phase_in_which_fast_and_slow_steps_are_mixed",
        )],
    ),
    (
        35,
        "times of messages differ from other times",
        &[("tests/terminal/sizes.rs", "every_screen_at_80_columns")],
    ),
    (
        36,
        "keys of the instructor's bar",
        &[(
            "tests/terminal/changes.rs",
            "keys_of_the_instructors_bar_are_set_off_from_their_words",
        )],
    ),
    (
        37,
        "titles of the outline are cut",
        &[(
            "src/ui/tui/view/tests.rs",
            "no_title_is_cut_in_the_outline_or_above_a_step",
        )],
    ),
    (
        38,
        "sentences of commands break within words, or are as wide as the terminal",
        &[(
            "tests/terminal/lines.rs",
            "sentences_of_commands_break_between_words_and_commands_stay_whole",
        )],
    ),
    (
        39,
        "the list of kernels cuts what they do, and two names look alike",
        &[
            (
                "src/ui/tui/panels/kernels/tests.rs",
                "what_a_kernel_does_is_whole_in_the_list_at_every_size",
            ),
            (
                "src/ui/tui/widgets/table.rs",
                "names_that_are_cut_still_differ_and_texts_fold",
            ),
        ],
    ),
    (
        40,
        "garbage is taken for a number",
        &[
            ("tests/bad_input.rs", "every_remedy_helps"),
            ("tests/bad_input.rs", "mistakes_are_named_with_a_way_out"),
            (
                "src/tutor/say.rs",
                "numbers_are_read_as_people_type_them_and_nothing_else_is_one",
            ),
        ],
    ),
    (
        41,
        "lists and fields cut what tells commands apart",
        &[(
            "src/ui/tui/view/tests.rs",
            "commands_that_differ_at_their_ends_differ_in_a_list",
        )],
    ),
    (
        42,
        "pictures are cut at 60 columns",
        &[(
            "src/ui/tui/view/tests.rs",
            "every_picture_has_room_at_60_columns",
        )],
    ),
];

#[test]
fn defects_of_the_terminal_are_held_by_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (number, what, tests) in OF_THE_TERMINAL {
        for (file, name) in *tests {
            let test = has_test(&root.join(file), name);
            assert!(test, "{number}, {what}: {file} has no test `{name}`");
        }
    }
}

fn has_test(file: &Path, name: &str) -> bool {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let test = format!("#[test]\nfn {name}(");
    text.replace("    ", "").contains(&test)
}

#[test]
fn every_defect_of_the_second_attack_is_held_by_a_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(root.join("docs/design/trust.md")).expect("the document");
    let (_, table) = text.split_once("## Twenty defects").expect("the table");
    let mut rows = 0;
    for row in table
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains(".rs: "))
    {
        rows += 1;
        let held = row.rsplit(" | ").next().unwrap_or_default();
        for test in held.split('`').filter(|part| part.contains(".rs: ")) {
            let (file, name) = test.split_once(": ").expect(test);
            assert!(has_test(&root.join(file), name), "{row}: {test}");
        }
    }
    assert_eq!(rows, 20);
}

#[test]
fn recordings_are_told_apart_in_their_list() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let output = tutor(home.path()).args(["recordings", "list"]).output();
    let listed = stdout(&output.expect("the program starts"));
    // Text that does not fit a line continues below it.
    let listed = listed.replace("\n  ", " ");
    let of_v2 = listed.lines().filter_map(|line| {
        let (_, rest) = line.split_once("v2 small ")?;
        Some(rest)
    });
    let of_v2: Vec<&str> = of_v2.collect();
    let different: BTreeSet<&str> = of_v2.iter().copied().collect();
    assert!(
        of_v2.len() > 5 && different.len() == of_v2.len(),
        "{listed}"
    );
}
