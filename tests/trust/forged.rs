//! Work that the tutor never wrote. Each forgery is applied to an honest session, every checksum is computed anew, and the
//! result is handed in as a folder, as an export and as a report. All three have to be refused with the same words.

use super::*;
use std::collections::BTreeMap;

use sha2::{Digest, Sha256};
use tinyllama_lesson::Step;

/// A session as a forger has it.
#[derive(Clone)]
struct Forged {
    records: Vec<Value>,
    streams: BTreeMap<String, String>,
    /// True if the forger leaves the numbers of the records as they are.
    keeps_numbers: bool,
}

impl Forged {
    fn new(place: &SessionLocation) -> Self {
        let log = fs::read_to_string(place.events()).unwrap();
        let record = |line: &str| serde_json::from_str::<Value>(line).unwrap()["record"].take();
        let runs = fs::read_dir(place.runs()).unwrap().flatten();
        let streams = runs.filter_map(|run| {
            let stream = fs::read_to_string(run.path().join("events.jsonl")).ok()?;
            Some((run.file_name().into_string().unwrap(), stream))
        });
        Self {
            records: log.lines().map(record).collect(),
            streams: streams.collect(),
            keeps_numbers: false,
        }
    }

    fn index(&self, kind: &str, is: impl Fn(&Value) -> bool) -> usize {
        let found = self.records.iter().position(|record| {
            let event = record["event"].get(kind);
            event.is_some_and(&is)
        });
        found.unwrap_or_else(|| panic!("the honest session has no such record: {kind}"))
    }

    /// The content of the first event of a kind that fulfils a condition.
    fn which(&mut self, kind: &str, is: impl Fn(&Value) -> bool) -> &mut Value {
        let index = self.index(kind, is);
        &mut self.records[index]["event"][kind]
    }

    fn first(&mut self, kind: &str) -> &mut Value {
        self.which(kind, |_| true)
    }

    /// Sets a field of the first event of a kind.
    fn set(&mut self, kind: &str, field: &str, value: impl Into<Value>) {
        *self.first(kind).pointer_mut(&format!("/{field}")).unwrap() = value.into();
    }

    fn insert(&mut self, index: usize, event: Value) {
        let time = self.records[index.min(self.records.len() - 1)]["time"].clone();
        self.records
            .insert(index, json!({"n": 0, "time": time, "event": event}));
    }

    fn after(&mut self, kind: &str, event: Value) {
        let index = self.index(kind, |_| true);
        self.insert(index + 1, event);
    }

    fn push(&mut self, event: Value) {
        self.insert(self.records.len(), event);
    }

    /// Copies the first event of a kind to the end.
    fn again(&mut self, kind: &str) {
        let event = json!({kind: self.first(kind).clone()});
        self.push(event);
    }

    fn remove(&mut self, kind: &str) {
        let index = self.index(kind, |_| true);
        self.records.remove(index);
    }

    /// The order whose last event is of this kind.
    fn order(&mut self, kind: &str) -> &mut Value {
        let is = |order: &Value| {
            let events = order["events"].as_array().unwrap();
            events.last().unwrap().get(kind).is_some()
        };
        self.which("ordered", is)
    }

    /// Changes the lines of a stream and computes the seal of its run anew.
    fn stream(&mut self, run: &str, change: impl Fn(&mut Value)) {
        let lines = self.streams[run].lines().map(|line| {
            let mut event: Value = serde_json::from_str(line).unwrap();
            change(&mut event);
            format!("{event}\n")
        });
        let text: String = lines.filter(|line| line != "null\n").collect();
        self.reseal(run, text);
    }

    fn reseal(&mut self, run: &str, text: String) {
        let sha256 = format!("{:x}", Sha256::digest(&text));
        self.streams.insert(run.into(), text);
        self.which("sealed", |seal| seal["run"] == run)["sha256"] = sha256.into();
    }

    /// The figures that a run's record has.
    fn values(&mut self, run: &str) -> &mut Value {
        &mut self.which("run_finished", |end| end["run"] == run)["values"]
    }

    fn write(&self, place: &SessionLocation) {
        let mut previous = chain::START.to_string();
        let mut log = String::new();
        for (n, record) in (1..).zip(&self.records) {
            let mut record = record.clone();
            if !self.keeps_numbers {
                record["n"] = n.into();
            }
            let (line, hash) = chain::encode(&previous, &record.to_string());
            log += &line;
            previous = hash;
        }
        fs::create_dir_all(&place.folder).unwrap();
        fs::write(place.events(), log).unwrap();
        for (run, stream) in &self.streams {
            let folder = place.runs().join(run);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("events.jsonl"), stream).unwrap();
        }
    }

    /// What is found in each form of the hand-in. All have to find the same.
    fn found(&self) -> HandInFindings {
        let folder = memory();
        let place = place(folder.path(), "ada");
        self.write(&place);
        let found = verify(&place.folder, None, course()).unwrap();
        let export = folder.path().join("ada.tar.gz");
        archive::export(&place, &export).unwrap();
        let log = fs::read_to_string(place.events()).unwrap();
        let chain = json!({"lines": log.lines().collect::<Vec<_>>(), "streams": self.streams});
        let report = check(&json!({"format": 1, "chain": chain}), None).unwrap();
        for (kind, other) in [
            ("export", verify(&export, None, course()).unwrap()),
            ("report", report),
        ] {
            let kind = HandInFindings {
                kind,
                ..found.clone()
            };
            assert_eq!(other, kind);
        }
        found
    }
}

const RUN: &str = "700000-v1";

/// Multiplies every time in a line of a stream.
fn times(event: &mut Value, factor: f64) {
    for name in [
        "total_ms",
        "forward_ms",
        "backward_ms",
        "optimizer_ms",
        "first_step_ms",
    ] {
        match &mut event[name] {
            Value::Number(value) => {
                event[name] = (value.as_f64().unwrap() * factor).into();
            }
            Value::Object(spread) => {
                for value in spread.values_mut() {
                    *value = (value.as_f64().unwrap() * factor).into();
                }
            }
            _ => {}
        }
    }
}

fn is_step(event: &Value, n: u64) -> bool {
    event["event"] == "step" && event["n"] == n
}

/// A step at which the learner never was.
fn unseen(is: impl Fn(&Step) -> bool) -> Value {
    let found = course().steps().filter(|(_, step)| is(step)).last();
    let (lesson, step) = found.unwrap();
    json!({"lesson": lesson.id, "step": step.id})
}

type Forgery = (&'static str, fn(&mut Forged));

/// The numbers and the beginning of records.
const RECORDS: [Forgery; 12] = [
    ("begins with a note", |it| {
        it.records[0]["event"] = json!({"note": {"text": "hello"}})
    }),
    ("begins with its second record", |it| {
        drop(it.records.remove(0))
    }),
    ("begins twice", |it| it.again("created")),
    ("begins with an order", |it| {
        let order = json!({"ordered": {"order": "x", "events": [{"message": {"from": "Ann", "text": ""}}]}});
        it.insert(0, order);
    }),
    ("a number is left out", |it| {
        it.keeps_numbers = true;
        it.records.remove(5);
    }),
    ("a number twice", |it| {
        it.keeps_numbers = true;
        let record = it.records[5].clone();
        it.records.insert(5, record);
    }),
    ("numbers go back", |it| {
        it.keeps_numbers = true;
        it.records.swap(5, 6);
    }),
    ("the largest number", |it| {
        it.keeps_numbers = true;
        it.records.last_mut().unwrap()["n"] = u64::MAX.into();
        it.push(json!({"note": {"text": ""}}));
    }),
    ("no time", |it| it.records[7]["time"] = "noon".into()),
    ("opened while a run went on", |it| {
        let index = it.index("run_finished", |end| end["exit"] == "lost");
        it.records.remove(index);
    }),
    ("a path of its own", |it| {
        it.set("path_chosen", "path/id", "mine")
    }),
    ("a shorter path", |it| {
        it.set("path_chosen", "path/lessons", json!(["welcome"]))
    }),
];

/// What a learner did at a step.
const STEPS: [Forgery; 42] = [
    ("a wrong answer is right", |it| {
        it.which("answered", |given| given["correct"] == false)["correct"] = true.into();
    }),
    ("a right answer is wrong", |it| {
        it.which("answered", |given| given["correct"] == true)["correct"] = false.into();
    }),
    ("a choice that is not there", |it| {
        it.set("answered", "answer", 99)
    }),
    ("half a choice", |it| {
        it.which("answered", |given| given["answer"] == 1.0)["answer"] = 1.5.into();
    }),
    ("a choice below the first", |it| {
        it.which("answered", |given| given["answer"] == 0.0)["answer"] = (-1).into();
    }),
    ("a huge choice", |it| it.set("answered", "answer", 1e300)),
    ("an answer to a text", |it| {
        let at = json!({"lesson": "welcome", "step": "the-model"});
        it.set("answered", "at", at);
    }),
    ("an answer to an unknown step", |it| {
        it.set("answered", "at/step", "no-such-step")
    }),
    ("an answer where the learner never was", |it| {
        let at = it.first("answered")["at"].clone();
        it.records
            .retain(|record| record["event"]["step_entered"]["at"] != at);
    }),
    ("asked again and wrong, said right", |it| {
        it.set("recalled", "answer", 98765.0);
    }),
    ("asked again, right said wrong", |it| {
        it.set("recalled", "correct", false)
    }),
    ("asked again what was never asked", |it| {
        let at = json!({"lesson": "welcome", "step": "the-model"});
        it.set("recalled", "at", at);
    }),
    ("a hint that is not there", |it| {
        it.set("hint_shown", "hint", 99)
    }),
    ("the hint before the first", |it| {
        it.set("hint_shown", "hint", 0)
    }),
    ("the second hint first", |it| {
        it.set("hint_shown", "hint", 2)
    }),
    ("the same hint twice", |it| it.again("hint_shown")),
    ("a hint where the learner never was", |it| {
        let at = unseen(|step| !step.hints.is_empty());
        it.push(json!({"hint_shown": {"at": at, "hint": 1}}));
    }),
    ("a run's step without its run", |it| {
        let at = it.which("run_started", |run| run["at"].is_object())["at"].clone();
        let end = it.index("step_done", |done| done["at"] == at);
        it.records.truncate(end + 1);
        let is_run = |record: &Value| {
            let event = record["event"]
                .as_object()
                .unwrap()
                .keys()
                .next()
                .unwrap()
                .clone();
            ["run_started", "run_finished", "sealed", "checked"].contains(&&*event)
        };
        it.records.retain(|record| !is_run(record));
    }),
    ("a question without its answer", |it| {
        let at = it.which("answered", |given| given["correct"] == true)["at"].clone();
        it.records
            .retain(|record| record["event"]["answered"]["at"] != at);
    }),
    ("done twice", |it| it.again("step_done")),
    ("a text read that was never opened", |it| {
        let at = unseen(|step| step.as_read().is_some());
        it.push(json!({"step_done": {"at": at}}));
    }),
    ("a locked lesson opened", |it| {
        let lesson = course().lessons().last().unwrap();
        let at = json!({"lesson": lesson.id, "step": lesson.steps[0].id});
        it.push(json!({"step_entered": {"at": at}}));
    }),
    ("an unknown lesson opened", |it| {
        it.set("step_entered", "at/lesson", "no-such-lesson")
    }),
    ("an unknown step done", |it| {
        it.set("step_done", "at/step", "no-such-step")
    }),
    ("an unknown step skipped", |it| {
        it.set("step_skipped", "at/step", "no-such-step")
    }),
    ("an untrimmed reason", |it| {
        it.set("step_skipped", "note", " why ")
    }),
    ("another guess after the first", |it| {
        let mut guess = it.first("predicted").clone();
        guess["value"] = 20.0.into();
        it.push(json!({"predicted": guess}));
    }),
    ("a guess at a question", |it| {
        let at = it.first("answered")["at"].clone();
        it.push(json!({"predicted": {"at": at, "value": 1.0}}));
    }),
    ("thoughts at a question", |it| {
        let at = it.first("answered")["at"].clone();
        it.push(json!({"reflected": {"at": at, "text": "I think so."}}));
    }),
    ("untrimmed thoughts", |it| {
        it.set("reflected", "text", " I think so. ")
    }),
    ("a suspect that is not there", |it| {
        it.set("suspected", "suspect", "nobody")
    }),
    ("a suspect at a question", |it| {
        let at = it.first("answered")["at"].clone();
        it.push(json!({"suspected": {"at": at, "suspect": "init"}}));
    }),
    ("a case solved without its fix", |it| {
        let fixed = it.index("run_started", |run| run["run"] == "710001-stage1");
        let at = it.records[fixed]["event"]["run_started"]["at"].clone();
        it.records.truncate(fixed);
        it.push(json!({"step_done": {"at": at}}));
    }),
    ("time that runs back", |it| {
        it.set("time_spent", "seconds", -1.0)
    }),
    ("time without a number", |it| {
        it.set("time_spent", "seconds", Value::Null)
    }),
    ("time at an unknown step", |it| {
        it.set("time_spent", "at/step", "no-such-step")
    }),
    ("everything is done", |it| {
        it.records.truncate(2);
        for (lesson, step) in course().steps() {
            let at = json!({"lesson": lesson.id, "step": step.id});
            it.push(json!({"step_done": {"at": at}}));
        }
    }),
    ("everything is read and done", |it| {
        it.records.truncate(2);
        for (lesson, step) in course().steps() {
            let at = json!({"lesson": lesson.id, "step": step.id});
            it.push(json!({"step_entered": {"at": at}}));
            it.push(json!({"step_done": {"at": at}}));
        }
    }),
    ("a step done before it was entered", |it| {
        let at = json!({"lesson": "welcome", "step": "the-model"});
        let entered = it.index("step_entered", |entered| entered["at"] == at);
        it.records.swap(entered, entered + 1);
    }),
    ("an answer as a text", |it| {
        it.set("answered", "answer", "1")
    }),
    ("a verdict of somebody else on an answer", |it| {
        it.first("answered")["by"] = "Ann".into();
        it.set("answered", "correct", Value::Null);
    }),
    ("a step skipped and done", |it| {
        let at = it.which("step_skipped", |_| true)["at"].clone();
        it.push(json!({"step_done": {"at": at}}));
    }),
];

/// Verdicts of checks.
const CHECKS: [Forgery; 12] = [
    ("another verdict", |it| {
        it.which("checked", |check| check["verdict"] == "passed")["verdict"] = "not yet".into();
    }),
    ("a missed check is passed", |it| {
        it.which("checked", |check| check["verdict"] != "passed")["verdict"] = "passed".into();
    }),
    ("a missed check is inconclusive", |it| {
        it.which("checked", |check| check["verdict"] == "not yet")["verdict"] =
            "inconclusive".into();
    }),
    ("a missed check was not evaluated", |it| {
        it.which("checked", |check| check["verdict"] == "not yet")["verdict"] =
            "not evaluated".into();
    }),
    ("another value", |it| {
        it.which("checked", |check| check["value"].is_number())["value"] = 123_456.0.into();
    }),
    ("a value where there is none", |it| {
        it.which("checked", |check| check["value"].is_null())["value"] = 1.0.into();
    }),
    ("no value where there is one", |it| {
        it.which("checked", |check| check["value"].is_number())["value"] = Value::Null;
    }),
    ("a check that is not there", |it| {
        it.set("checked", "check", "no-such-check")
    }),
    ("a check of another step", |it| {
        let at = it.first("answered")["at"].clone();
        it.set("checked", "at", at);
    }),
    ("one check of several", |it| {
        let is_first = |pair: &[Value]| {
            let [at, next] = [0, 1].map(|index| &pair[index]["event"]["checked"]["at"]);
            at.is_object() && at == next
        };
        let index = it.records.windows(2).position(is_first).unwrap();
        it.records.remove(index);
    }),
    ("a check before its run", |it| {
        let checked = it.index("checked", |check| check["verdict"] == "passed");
        let check = it.records.remove(checked);
        let started = it.index("run_started", |run| {
            run["at"] == check["event"]["checked"]["at"]
        });
        it.records.insert(started, check);
    }),
    ("a verdict that is not one", |it| {
        it.set("checked", "verdict", "excellent")
    }),
];

/// Runs, as the session has them.
const RUNS: [Forgery; 32] = [
    ("half the time", |it| {
        let half = it.values(RUN)["total_ms"].as_f64().unwrap() / 2.0;
        it.values(RUN)["total_ms"] = half.into();
    }),
    ("half of every figure", |it| {
        for value in it.values(RUN).as_object_mut().unwrap().values_mut() {
            *value = (value.as_f64().unwrap() / 2.0).into();
        }
    }),
    ("a lower loss", |it| {
        it.values(RUN)["final_loss"] = 0.5.into()
    }),
    ("a figure that was not reported", |it| {
        it.values(RUN)["speedup"] = 10.0.into()
    }),
    ("a figure left out", |it| {
        it.values(RUN)
            .as_object_mut()
            .unwrap()
            .remove("parameters_with_gradient");
    }),
    ("figures of a killed run", |it| {
        it.values("760000-v1")["final_loss"] = 0.5.into()
    }),
    ("figures of a lost run", |it| {
        it.values("890000-v1")["total_ms"] = 1.0.into()
    }),
    ("a lost run ended well", |it| {
        it.which("run_finished", |end| end["exit"] == "lost")["exit"] = json!({"status": 0});
    }),
    ("a killed run ended well", |it| {
        it.which("run_finished", |end| end["run"] == "760000-v1")["exit"] = json!({"status": 0});
    }),
    ("a killed run without files ended well", |it| {
        it.which("run_finished", |end| end["run"] == "770000-v1")["exit"] = json!({"status": 0});
    }),
    ("ended and never started", |it| {
        it.set("run_finished", "run", "other")
    }),
    ("started twice", |it| it.again("run_started")),
    ("ended twice", |it| it.again("run_finished")),
    ("ended twice, sealed once", |it| {
        let index = it.index("sealed", |_| true);
        let end = it.first("run_finished").clone();
        it.insert(index + 1, json!({"run_finished": end}));
    }),
    ("sealed twice", |it| it.again("sealed")),
    ("sealed and never started", |it| {
        it.set("sealed", "run", "other")
    }),
    ("sealed before it ended", |it| {
        let index = it.index("run_finished", |end| end["run"] == RUN);
        it.records.swap(index, index + 1);
    }),
    ("another seal", |it| {
        it.set("sealed", "sha256", "ab".repeat(32))
    }),
    ("no seal", |it| it.remove("sealed")),
    ("a note in place of the seal", |it| {
        let index = it.index("sealed", |_| true);
        it.records[index]["event"] = json!({"note": {"text": "no seal"}});
    }),
    ("a name that leads out", |it| {
        let text = json!(it.records).to_string().replace(RUN, "../x");
        it.records = serde_json::from_str(&text).unwrap();
    }),
    ("another target", |it| {
        it.which("run_started", |run| run["run"] == RUN)["target"] = "v4".into();
    }),
    ("a run of another target at a step", |it| {
        it.which("run_started", |run| run["at"].is_object())["target"] = "v4".into();
    }),
    ("a run at a text", |it| {
        let at = json!({"lesson": "welcome", "step": "the-model"});
        it.which("run_started", |run| run["run"] == RUN)["at"] = at;
    }),
    ("a run at an unknown step", |it| {
        it.which("run_started", |run| run["at"].is_object())["at"]["step"] = "no-such-step".into();
    }),
    ("a command with other steps", |it| {
        it.which("run_started", |run| run["run"] == RUN)["command"][6] = "--num-steps=31".into();
    }),
    ("a command with a smaller batch", |it| {
        it.which("run_started", |run| run["run"] == RUN)["command"][7] = "--batch-size=1".into();
    }),
    ("a command with another seed", |it| {
        let run = it.which("run_started", |run| run["run"] == RUN);
        run["command"]
            .as_array_mut()
            .unwrap()
            .push("--seed=7".into());
    }),
    ("a command with a fix", |it| {
        let run = it.which("run_started", |run| run["run"] == "700001-stage1");
        run["command"]
            .as_array_mut()
            .unwrap()
            .extend(["--fix".into(), "init".into()]);
    }),
    ("a command that run does not take", |it| {
        let run = it.which("run_started", |run| run["run"] == RUN);
        run["command"]
            .as_array_mut()
            .unwrap()
            .push("--nonsense".into());
    }),
    ("a run moved to another step", |it| {
        let at = json!({"lesson": "five-stages", "step": "stage1"});
        it.which("run_started", |run| run["at"].is_object())["at"] = at;
    }),
    ("a run of the case with another target", |it| {
        it.which("run_started", |run| run["run"] == "710000-stage1")["target"] = "v1".into();
    }),
];

/// Streams of runs, with new seals.
const STREAMS: [Forgery; 27] = [
    ("faster steps", |it| {
        it.stream(RUN, |event| {
            if event["event"] == "step" {
                times(event, 0.1)
            }
        })
    }),
    ("faster steps with their figures", |it| {
        it.stream(RUN, |event| {
            if event["event"] == "step" {
                times(event, 0.1)
            }
        });
        for name in [
            "total_ms",
            "forward_ms",
            "backward_ms",
            "optimizer_ms",
            "first_step_ms",
        ] {
            let value = it.values(RUN)[name].as_f64();
            if let Some(value) = value {
                it.values(RUN)[name] = (value * 0.1).into();
            }
        }
    }),
    ("a faster summary", |it| {
        it.stream(RUN, |event| {
            if event["event"] == "summary" {
                times(event, 0.1)
            }
        });
    }),
    ("slower than the stream took", |it| {
        it.stream(RUN, |event| times(event, 10.0));
        it.stream(RUN, |event| {
            if let Some(rate) = event.get_mut("samples_per_s").filter(|it| it.is_number()) {
                *rate = (rate.as_f64().unwrap() / 10.0).into();
            }
        });
    }),
    ("a lower loss at the end", |it| {
        it.stream(RUN, |event| {
            if is_step(event, 31) {
                event["loss"] = 0.5.into()
            }
        });
    }),
    ("a lower loss in the summary", |it| {
        it.stream(RUN, |event| {
            if event["event"] == "summary" {
                event["final_loss"] = 0.5.into()
            }
        });
        it.values(RUN)["final_loss"] = 0.5.into();
    }),
    ("a step left out", |it| {
        it.stream(RUN, |event| {
            if is_step(event, 9) {
                event.take();
            }
        })
    }),
    ("the last step left out", |it| {
        it.stream(RUN, |event| {
            if is_step(event, 31) {
                event.take();
            }
        })
    }),
    ("a slow step that does not count", |it| {
        it.stream(RUN, |event| {
            if is_step(event, 9) {
                event["measured"] = false.into()
            }
        });
    }),
    ("a warm-up that counts", |it| {
        it.stream(RUN, |event| {
            if is_step(event, 1) {
                event["measured"] = true.into()
            }
        });
    }),
    ("steps in another order", |it| {
        it.stream(RUN, |event| {
            if is_step(event, 9) {
                event["n"] = 10.into()
            }
        });
    }),
    ("no end", |it| {
        it.stream(RUN, |event| {
            if event["event"] == "summary" {
                event.take();
            }
        })
    }),
    ("an end that was not reached", |it| {
        it.stream(RUN, |event| {
            if event["event"] == "summary" {
                event["complete"] = false.into()
            }
        });
    }),
    ("no beginning", |it| {
        it.stream(RUN, |event| {
            if event["event"] == "hello" {
                event.take();
            }
        })
    }),
    ("of another target", |it| {
        it.stream(RUN, |event| {
            if event["event"] == "hello" {
                event["target"] = "v4".into()
            }
        });
    }),
    ("of a smaller model", |it| {
        it.stream(RUN, |event| {
            if event["event"] == "hello" {
                event["config"]["layers"] = 1.into()
            }
        });
    }),
    ("of another seed", |it| {
        it.stream(RUN, |event| {
            if event["event"] == "hello" {
                event["seed"] = 7.into()
            }
        });
    }),
    ("of another learning rate", |it| {
        it.stream(RUN, |event| {
            if event["event"] == "hello" {
                event["learning_rate"] = 1.0.into()
            }
        });
    }),
    ("of another recipe", |it| {
        let fused = |event: &mut Value| {
            if event["event"] == "hello" {
                event["recipe"]["qkv"] = "fused".into();
            }
        };
        it.stream(RUN, fused);
    }),
    ("times that go back", |it| {
        it.stream(RUN, |event| {
            if is_step(event, 9) {
                event["t"] = 0.5.into()
            }
        })
    }),
    ("cut off", |it| {
        let text: String = it.streams[RUN]
            .lines()
            .take(9)
            .map(|line| format!("{line}\n"))
            .collect();
        it.reseal(RUN, text);
    }),
    ("empty", |it| it.reseal(RUN, String::new())),
    ("not there", |it| drop(it.streams.remove(RUN))),
    ("not there, and not sealed", |it| {
        it.streams.remove(RUN);
        let seal = it.index("sealed", |seal| seal["run"] == RUN);
        it.records.remove(seal);
    }),
    ("that of another run", |it| {
        let text = it.streams["700003-v2"].clone();
        it.reseal(RUN, text);
    }),
    ("changed after the seal", |it| {
        let text = it.streams[RUN].replacen("\"loss\":6", "\"loss\":5", 1);
        it.streams.insert(RUN.into(), text);
    }),
    ("a line more after the seal", |it| {
        let text =
            it.streams[RUN].clone() + "{\"t\":9.0,\"event\":\"note\",\"message\":\"fast\"}\n";
        it.streams.insert(RUN.into(), text);
    }),
];

/// Recordings that are passed off as runs.
const RECORDINGS: [Forgery; 8] = [
    ("a recording that is not marked", |it| it.remove("recorded")),
    ("a recording of another machine", |it| {
        it.set("recorded", "machine", "AMD Instinct MI300X")
    }),
    ("a recording marked after its end", |it| {
        let index = it.index("recorded", |_| true);
        let mark = it.records.remove(index);
        it.records.push(mark);
    }),
    ("a run that is marked as a recording", |it| {
        let mark = json!({"recorded": {"run": RUN, "machine": "NVIDIA H200, 21 November 2026"}});
        let index = it.index("run_started", |run| run["run"] == RUN);
        it.insert(index + 1, mark);
    }),
    ("a recording marked twice", |it| {
        let mark = it.first("recorded").clone();
        it.after("recorded", json!({"recorded": mark}));
    }),
    ("a recording with a faster step", |it| {
        it.stream("750000-v1", |event| {
            if is_step(event, 9) {
                times(event, 0.5)
            }
        });
    }),
    ("a recording in place of a run", |it| {
        let text = it.streams["750000-v1"].clone();
        it.reseal(RUN, text);
    }),
    ("a mark of a run that never started", |it| {
        it.set("recorded", "run", "other")
    }),
];

/// Learners' kernels.
const KERNELS: [Forgery; 12] = [
    ("passed with a finding", |it| {
        it.which("kernel_checked", |check| check["passed"] == true)["findings"] = json!(["race"]);
    }),
    ("failed without a finding", |it| {
        it.set("kernel_checked", "findings", json!([]))
    }),
    ("a failed kernel passed", |it| {
        it.set("kernel_checked", "passed", true);
        it.set("kernel_checked", "findings", json!([]));
    }),
    ("passed without its text", |it| {
        it.which("kernel_checked", |check| check["passed"] == true)["text"] = Value::Null;
    }),
    ("passed with another text", |it| {
        it.which("kernel_checked", |check| check["passed"] == true)["text"] = "good too".into();
    }),
    ("passed with the text of a wrong kernel", |it| {
        let wrong = it.which("kernel_checked", |check| check["passed"] == true);
        wrong["sha256"] = format!("{:x}", Sha256::digest("wrong")).into();
        wrong["text"] = "wrong".into();
    }),
    ("a text with a checksum of another", |it| {
        it.which("kernel_checked", |check| check["passed"] == true)["sha256"] =
            "ab".repeat(32).into();
    }),
    ("a failed kernel with a text", |it| {
        it.first("kernel_checked")["text"] = "bad".into()
    }),
    ("of an exercise that is not there", |it| {
        it.set("kernel_checked", "exercise", "no-such-exercise")
    }),
    ("timed without an exercise", |it| {
        it.set("kernel_timed", "exercise", "no-such-exercise")
    }),
    ("at a step that asks for none", |it| {
        let at = it.first("answered")["at"].clone();
        it.set("kernel_checked", "at", at);
    }),
    ("at the step of another exercise", |it| {
        let (lesson, step) = course()
            .steps()
            .find(|(_, step)| step.as_kernel().is_some())
            .unwrap();
        let at = json!({"lesson": lesson.id, "step": step.id});
        it.which("kernel_checked", |check| check["passed"] == true)["at"] = at;
    }),
];

/// Orders of an instructor.
const ORDERS: [Forgery; 22] = [
    ("taken twice", |it| it.again("ordered")),
    ("without an effect", |it| {
        it.set("ordered", "events", json!([]))
    }),
    ("an order to spend time", |it| {
        let spent = json!({"time_spent": {"at": {"lesson": "welcome", "step": "the-model"}, "seconds": 60.0}});
        it.set("ordered", "events", json!([spent]));
    }),
    ("an order to begin", |it| {
        let created = it.first("created").clone();
        it.set("ordered", "events", json!([{"created": created}]));
    }),
    ("an order within an order", |it| {
        let order = it.first("ordered").clone();
        it.push(json!({"ordered": {"order": "x", "events": [{"ordered": order}]}}));
    }),
    ("two orders in one", |it| {
        let events = it.order("unlocked")["events"].clone();
        let both = [events[0].clone(), events[0].clone()];
        it.order("unlocked")["events"] = json!(both);
    }),
    ("an answer alone", |it| {
        let answered = it.first("answered").clone();
        it.push(json!({"ordered": {"order": "x", "events": [{"answered": answered}]}}));
    }),
    ("solved without an order", |it| {
        let solved = it.order("solved")["events"]
            .as_array()
            .unwrap()
            .last()
            .unwrap()
            .clone();
        it.push(solved);
    }),
    ("reset without an order", |it| {
        let mut event = it.order("reset")["events"][0].clone();
        event["reset"]["backup"] = "reset-2".into();
        it.push(event);
    }),
    ("restored without an order", |it| {
        let event = it.order("restored")["events"][0].clone();
        it.push(event);
    }),
    ("unlocked without an order", |it| {
        let event = it.order("unlocked")["events"][0].clone();
        it.push(event);
    }),
    ("a message without an order", |it| {
        it.push(json!({"message": {"from": "Ann", "text": "You passed."}}));
    }),
    ("a backup of another name", |it| {
        it.order("reset")["events"][0]["reset"]["backup"] = "mine".into();
    }),
    ("a backup that is not there", |it| {
        it.order("restored")["events"][0]["restored"]["backup"] = "reset-9".into();
    }),
    ("restored twice", |it| {
        let mut order = it.order("restored").clone();
        order["order"] = "x".into();
        it.push(json!({"ordered": order}));
    }),
    ("solved with a wrong answer", |it| {
        let order = it.which("ordered", |order| {
            order["events"][0].get("answered").is_some()
        });
        order["events"][0]["answered"]["answer"] = 98765.0.into();
    }),
    ("solved with half the time", |it| {
        let order = it.which("ordered", |order| {
            order["events"][1].get("run_finished").is_some()
        });
        order["events"][1]["run_finished"]["values"]["total_ms"] = 1.0.into();
    }),
    ("solved with another seal", |it| {
        let order = it.which("ordered", |order| {
            order["events"][2].get("sealed").is_some()
        });
        order["events"][2]["sealed"]["sha256"] = "ab".repeat(32).into();
    }),
    ("solved with a run that is going on", |it| {
        let order = it.which("ordered", |order| {
            order["events"][2].get("sealed").is_some()
        });
        order["events"].as_array_mut().unwrap().drain(1..3);
    }),
    ("solved at an unknown step", |it| {
        let order = it.order("solved");
        let last = order["events"].as_array_mut().unwrap().last_mut().unwrap();
        last["solved"]["at"]["step"] = "no-such-step".into();
    }),
    ("a kernel that passes at a step", |it| {
        let mut check = it
            .which("kernel_checked", |check| check["passed"] == true)
            .clone();
        check["at"] = json!({"lesson": "welcome", "step": "the-model"});
        it.push(json!({"ordered": {"order": "x", "events": [{"kernel_checked": check}]}}));
    }),
    ("a step done by order", |it| {
        let at = unseen(|step| step.as_read().is_some());
        it.push(json!({"ordered": {"order": "x", "events": [{"step_done": {"at": at}}]}}));
    }),
];

#[test]
fn forged_work_is_named_in_every_form_of_a_hand_in() {
    let folder = memory();
    let honest = Forged::new(&session::full(folder.path()));
    let found = honest.found();
    assert_eq!(found.problems, [""; 0], "{found:?}");
    let (mut table, mut accepted) = (Vec::new(), Vec::new());
    for (title, forgeries) in [
        ("records", &RECORDS[..]),
        ("steps", &STEPS),
        ("checks", &CHECKS),
        ("runs", &RUNS),
        ("streams", &STREAMS),
        ("recordings", &RECORDINGS),
        ("kernels", &KERNELS),
        ("orders", &ORDERS),
    ] {
        table.push(format!("# {title}: {}", forgeries.len()));
        for (name, forge) in forgeries {
            let found = std::panic::catch_unwind(|| {
                let mut forged = honest.clone();
                forge(&mut forged);
                forged.found()
            });
            let Ok(found) = found else {
                accepted.push(format!("{title}, {name}: panicked"));
                continue;
            };
            let Some(first) = found.problems.first() else {
                accepted.push(format!("{title}, {name}: {found:?}"));
                continue;
            };
            let (_, text) = first.split_once(", ").unwrap_or(("", first));
            table.push(format!("{name}: {text}"));
        }
    }
    assert_eq!(accepted, [""; 0]);
    insta::assert_snapshot!(without_digests(&table.join("\n")));
}

/// Checksums change with every change of the honest session.
fn without_digests(text: &str) -> String {
    let is_hex = |c: char| c.is_ascii_hexdigit();
    let words = text.split_inclusive(|c: char| !is_hex(c));
    let shown = words.map(
        |word| match word.trim_end_matches(|c: char| !is_hex(c)).len() {
            50.. => format!("(checksum){}", &word[word.len() - 1..]),
            _ => word.to_string(),
        },
    );
    shown.collect()
}

#[test]
fn a_line_that_was_changed_without_its_checksum_is_named() {
    let folder = memory();
    let place = walk(place(folder.path(), "ada"), course(), 1, 5);
    let log = fs::read_to_string(place.events()).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    let mut swapped = lines.clone();
    swapped.swap(3, 4);
    let forged = [
        log.replacen("ada", "eve", 1),
        log.replacen("\"n\":4", "\"n\": 4", 1),
        lines[..4]
            .iter()
            .chain(&lines[5..])
            .map(|line| format!("{line}\n"))
            .collect(),
        swapped.iter().map(|line| format!("{line}\n")).collect(),
        format!("{log}{{\"hash"),
        format!("{log}{}\n", lines[2]),
        String::from("\n") + &log,
    ];
    let named = forged.map(|log| {
        fs::write(place.events(), log).unwrap();
        let found = verify(&place.folder, None, course()).unwrap();
        assert_eq!(found.consistent(), Some(false), "{found:?}");
        found.problems.join("\n")
    });
    insta::assert_snapshot!(named.join("\n\n"));
}
