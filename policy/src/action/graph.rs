//! Which actions come before which.

use std::collections::{BTreeMap, BTreeSet};

use super::{Action, Output};
use crate::Origin;
use crate::nearest;

/// Actions in an order in which each comes after those that it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    order: Vec<usize>,
    needs: Vec<Vec<usize>>,
}

impl GraphError {
    /// Returns what it is about, where its words end with that.
    pub fn object(&self) -> Option<&str> {
        match self {
            Self::Unknown { name, .. } => Some(name),
            _ => None,
        }
    }
}

/// Why actions are no graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// Nobody states an action of this name.
    #[error("no such action: {name}")]
    Unknown {
        /// The name.
        name: String,
        /// Which was probably meant, or some that there are.
        hint: String,
        /// Who names it; nobody does, but the command line.
        origin: Option<Origin>,
    },
    /// Two have one name.
    #[error("{second}: a second action {name}")]
    Twice {
        /// The name.
        name: String,
        /// Where the first is stated.
        first: Origin,
        /// Where the second is.
        second: Origin,
    },
    /// Actions wait for one another.
    #[error("actions need one another: {}", names.join(" needs "))]
    Cycle {
        /// Their names; the first again at the end.
        names: Vec<String>,
    },
    /// Two actions leave something at one place, or one does twice.
    #[error("{} {path}", leavers(names))]
    Outputs {
        /// Their names.
        names: [String; 2],
        /// The place.
        path: String,
    },
    /// An action is to see what it leaves itself: what stands at the place of an output is no input.
    #[error("{input} is an input and an output of {name}")]
    Own {
        /// The input.
        input: String,
        /// The action.
        name: String,
        /// The output that it is, or is in.
        output: String,
        /// Who states the input.
        origin: Origin,
    },
}

fn leavers([one, other]: &[String; 2]) -> String {
    if one == other {
        return format!("{one} names two outputs at one place:");
    }
    format!("{one} and {other} both leave")
}

/// How many names are told at most.
const TOLD: usize = 8;

/// Names some of the actions that there are.
fn some(numbers: &BTreeMap<&str, usize>) -> String {
    let told: Vec<&str> = numbers.keys().copied().take(TOLD).collect();
    let more = match numbers.len() - told.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("there are: {}{more}", told.join(", "))
}

impl Graph {
    /// Orders the actions that are `wanted`, with all that they need; without a name, all.
    ///
    /// # Errors
    /// Names of no action or of two, actions that need one another, two that leave the same, or one that is to
    /// see what it leaves.
    pub fn new(actions: &[Action], wanted: &[String]) -> Result<Self, GraphError> {
        let numbers = numbers(actions)?;
        let find = |name: &str, by: Option<(&Action, &Origin)>| {
            // None needs itself.
            let others = numbers.keys().copied().filter(|it| by.is_none_or(|by| by.0.name != *it));
            numbers.get(name).copied().ok_or_else(|| GraphError::Unknown {
                name: name.to_owned(),
                hint: nearest::hint(name, others).unwrap_or_else(|| some(&numbers)),
                origin: by.map(|(_, origin)| origin.clone()),
            })
        };
        let needs = actions.iter().map(|action| {
            let needs = action.needs.iter().map(|it| find(&it.value, Some((action, &it.origin))));
            needs.collect::<Result<BTreeSet<_>, _>>().map(|set| set.into_iter().collect())
        });
        let needs: Vec<Vec<usize>> = needs.collect::<Result<_, _>>()?;
        apart(actions)?;
        actions.iter().try_for_each(sees_others)?;
        let roots = if wanted.is_empty() {
            (0..actions.len()).collect()
        } else {
            wanted.iter().map(|name| find(name, None)).collect::<Result<Vec<_>, _>>()?
        };
        let order = Ordering { actions, needs: &needs, states: BTreeMap::new(), order: Vec::new() };
        Ok(Self { order: order.all(&roots)?, needs })
    }

    /// Returns the numbers of the actions, each after those that it needs.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// Returns the numbers of the actions whose outputs one sees.
    pub fn needs(&self, action: usize) -> &[usize] {
        self.needs.get(action).map(Vec::as_slice).unwrap_or_default()
    }
}

fn numbers(actions: &[Action]) -> Result<BTreeMap<&str, usize>, GraphError> {
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    for (number, action) in actions.iter().enumerate() {
        let first = numbers.insert(&action.name, number).and_then(|first| actions.get(first));
        if let Some(first) = first {
            let (name, first) = (action.name.clone(), first.origin.clone());
            return Err(GraphError::Twice { name, first, second: action.origin.clone() });
        }
    }
    Ok(numbers)
}

/// Sorted by path, what meets stands side by side but for what is in between: names below the first.
fn apart(actions: &[Action]) -> Result<(), GraphError> {
    let of = |action| Action::outputs_with_name(action);
    let mut outputs: Vec<(&Output, &str)> = actions.iter().flat_map(of).collect();
    outputs.sort_by(|(one, _), (two, _)| one.path.names().cmp(two.path.names()));
    for pair in outputs.windows(2) {
        if let [(one, first), (two, second)] = pair
            && one.meets(two)
        {
            let names = [(*first).to_owned(), (*second).to_owned()];
            return Err(GraphError::Outputs { names, path: two.path.to_string() });
        }
    }
    Ok(())
}

/// An input that is a directory with outputs in it, or a pattern that matches some, stands for what else is there.
fn sees_others(action: &Action) -> Result<(), GraphError> {
    for input in &action.inputs {
        let Some(fixed) = input.value.fixed() else { continue };
        let mut outputs = action.outputs.iter().map(|it| &it.value);
        if let Some(output) = outputs.find(|it| fixed.is_within(&it.path)) {
            return Err(GraphError::Own {
                input: input.value.to_string(),
                name: action.name.clone(),
                output: output.path.to_string(),
                origin: input.origin.clone(),
            });
        }
    }
    Ok(())
}

impl Action {
    fn outputs_with_name(&self) -> impl Iterator<Item = (&Output, &str)> {
        self.outputs.iter().map(|it| (&it.value, self.name.as_str()))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Those that it needs are being ordered.
    Open,
    Done,
}

struct Ordering<'a> {
    actions: &'a [Action],
    needs: &'a [Vec<usize>],
    states: BTreeMap<usize, State>,
    order: Vec<usize>,
}

impl Ordering<'_> {
    /// Goes down without the stack: a chain of actions may be as long as a file.
    fn all(mut self, roots: &[usize]) -> Result<Vec<usize>, GraphError> {
        for root in roots {
            let mut way = Vec::new();
            self.enter(*root, &mut way)?;
            while !way.is_empty() {
                self.step(&mut way)?;
            }
        }
        Ok(self.order)
    }

    /// Goes to the next action that the last one of the way needs, or back from it.
    fn step(&mut self, way: &mut Vec<(usize, usize)>) -> Result<(), GraphError> {
        let Some((action, next)) = way.last_mut() else { return Ok(()) };
        let action = *action;
        let need = self.needs.get(action).and_then(|needs| needs.get(*next)).copied();
        *next += 1;
        if let Some(need) = need {
            return self.enter(need, way);
        }
        self.states.insert(action, State::Done);
        self.order.push(action);
        way.pop();
        Ok(())
    }

    fn enter(&mut self, action: usize, way: &mut Vec<(usize, usize)>) -> Result<(), GraphError> {
        match self.states.get(&action) {
            Some(State::Done) => {}
            Some(State::Open) => return Err(self.cycle(action, way)),
            None => {
                self.states.insert(action, State::Open);
                way.push((action, 0));
            }
        }
        Ok(())
    }

    fn cycle(&self, action: usize, way: &[(usize, usize)]) -> GraphError {
        let from = way.iter().position(|(it, _)| *it == action).unwrap_or_default();
        let round = way.iter().skip(from).map(|(it, _)| *it).chain([action]);
        let name = |it: usize| self.actions.get(it).map(|it| it.name.clone()).unwrap_or_default();
        GraphError::Cycle { names: round.map(name).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{InputPattern, Stated};

    fn action(name: &str, outputs: &[&str], needs: &[&str]) -> Action {
        let stated = |text: &&str| Stated::new((*text).to_owned(), Origin::Default);
        let output =
            |text: &&str| Stated::new(Output::parse(text).expect("an output"), Origin::Default);
        Action {
            name: name.to_owned(),
            command: vec!["true".to_owned()],
            inputs: Vec::new(),
            outputs: outputs.iter().map(output).collect(),
            needs: needs.iter().map(stated).collect(),
            environment: BTreeMap::new(),
            timeout: None,
            tools: Vec::new(),
            is_cached: true,
            origin: Origin::Default,
        }
    }

    #[track_caller]
    fn check(actions: &[Action], wanted: &[&str], expected: Result<&[&str], &str>) {
        let wanted: Vec<String> = wanted.iter().map(|it| (*it).to_owned()).collect();
        let graph = Graph::new(actions, &wanted);
        let names = |graph: Graph| -> Vec<&str> {
            graph.order().iter().map(|it| actions[*it].name.as_str()).collect()
        };
        let found = graph.map(names).map_err(|error| error.to_string());
        assert_eq!(found.as_deref().map_err(String::as_str), expected);
    }

    #[test]
    fn actions_come_after_those_that_they_need() {
        let actions = [
            action("link", &["app"], &["b.o", "a.o"]),
            action("a.o", &["a.o"], &["gen"]),
            action("b.o", &["b.o"], &[]),
            action("gen", &["gen/"], &[]),
            action("other", &[], &[]),
        ];
        check(&actions, &["link"], Ok(&["gen", "a.o", "b.o", "link"]));
        check(&actions, &["a.o", "gen"], Ok(&["gen", "a.o"]));
        check(&actions, &[], Ok(&["gen", "a.o", "b.o", "link", "other"]));
        check(&actions, &["lnk"], Err("no such action: lnk"));
    }

    #[test]
    fn some_names_are_told_to_who_knows_none() {
        let hint = |count: usize, name: &str| {
            let names = (0..count).map(|number| format!("step-{number:02}"));
            let actions: Vec<Action> = names.map(|name| action(&name, &[], &[])).collect();
            match Graph::new(&actions, &[name.to_owned()]) {
                Err(GraphError::Unknown { hint, .. }) => hint,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(hint(3, "step-2"), "did you mean `step-02`");
        assert_eq!(hint(3, "link"), "there are: step-00, step-01, step-02");
        assert_eq!(
            hint(12, "link"),
            "there are: step-00, step-01, step-02, step-03, step-04, step-05, step-06, step-07 and 4 more"
        );
    }

    #[test]
    fn actions_that_need_one_another_are_named() {
        let actions =
            [action("a", &[], &["b"]), action("b", &[], &["c"]), action("c", &[], &["b"])];
        check(&actions, &[], Err("actions need one another: b needs c needs b"));
        check(&[action("a", &[], &["a"])], &[], Err("actions need one another: a needs a"));
    }

    #[test]
    fn long_chain_needs_no_stack() {
        let name = |number: usize| format!("step-{number}");
        let actions: Vec<Action> = (0..50_000)
            .map(|it| action(&name(it), &[], &[&name(it + 1)]))
            .chain([action(&name(50_000), &[], &[])])
            .collect();
        let graph = Graph::new(&actions, &[name(0)]).expect("a graph");
        assert_eq!(graph.order().len(), 50_001);
        assert_eq!(graph.order().first(), Some(&50_000));
    }

    #[test]
    fn two_that_leave_the_same_are_named() {
        let twice = |one: &str, two: &str| {
            let actions = [action("a", &[one], &[]), action("b", &[two, "x"], &[])];
            Graph::new(&actions, &[]).map(drop).map_err(|error| error.to_string())
        };
        assert_eq!(twice("out", "out"), Err("a and b both leave out".to_owned()));
        assert_eq!(twice("out/", "out/a"), Err("a and b both leave out/a".to_owned()));
        assert_eq!(twice("out", "out.a"), Ok(()));
        assert_eq!(twice("out-a", "out/a"), Ok(()));
    }

    #[test]
    fn input_that_is_an_output_of_its_action_is_named() {
        let told = |input: &str, output: &str| {
            let input = InputPattern::parse(input).expect("a pattern");
            let inputs = vec![Stated::new(input, Origin::Default)];
            let actions = [Action { inputs, ..action("a", &[output], &[]) }];
            Graph::new(&actions, &[]).map(drop).map_err(|error| error.to_string())
        };
        assert_eq!(told("x", "x"), Err("x is an input and an output of a".to_owned()));
        for (input, output) in [("x/b", "x/"), ("x/**", "x/"), ("x/b/*.o", "x")] {
            assert_eq!(told(input, output), Err(format!("{input} is an input and an output of a")));
        }
        for (input, output) in [("x", "x/b"), ("x/**", "x/b"), ("**", "x"), ("*", "x"), ("x", "xy")]
        {
            assert_eq!(told(input, output), Ok(()), "{input} {output}");
        }
    }

    #[test]
    fn second_of_a_name_is_told() {
        let actions = [action("a", &[], &[]), action("a", &[], &[])];
        check(&actions, &[], Err("default: a second action a"));
    }
}
