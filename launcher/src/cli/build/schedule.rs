//! What is next: pure, so that every order of events can be tested.

use std::collections::VecDeque;

use endow_policy::Graph;

/// What is known of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It is not asked for.
    Unwanted,
    /// It waits for others.
    Waiting,
    /// It is being looked up or executed.
    Begun,
    /// Its outputs are there.
    Succeeded,
    /// They are not.
    Failed,
    /// It is not tried: one that it needs failed, or the build was ended by one.
    Skipped,
}

/// The order of a build.
pub(super) struct Schedule<'g> {
    graph: &'g Graph,
    states: Vec<State>,
    /// Whether the build goes on after a failure.
    keeps_going: bool,
    waiting: VecDeque<usize>,
}

impl<'g> Schedule<'g> {
    /// Begins with `count` actions, of which those of the graph are wanted.
    pub(super) fn new(graph: &'g Graph, count: usize, keeps_going: bool) -> Self {
        let mut states = vec![State::Unwanted; count];
        for action in graph.order() {
            set(&mut states, *action, State::Waiting);
        }
        let waiting = graph.order().iter().copied().collect();
        Self { graph, states, keeps_going, waiting }
    }

    /// Returns the actions that have all they need, in the order in which they are next.
    pub(super) fn ready(&self) -> impl Iterator<Item = usize> {
        self.waiting.iter().copied().filter(|action| self.is_ready(*action))
    }

    fn is_ready(&self, action: usize) -> bool {
        self.graph.needs(action).iter().all(|need| self.state(*need) == State::Succeeded)
    }

    /// Returns the next action that has all it needs, which counts as begun; `None` when there is none
    /// now.
    pub(super) fn next(&mut self) -> Option<usize> {
        let at = self.waiting.iter().position(|action| self.is_ready(*action))?;
        let action = self.waiting.remove(at)?;
        set(&mut self.states, action, State::Begun);
        Some(action)
    }

    /// Begins an action that was ready; returns whether it still waits.
    pub(super) fn begin(&mut self, action: usize) -> bool {
        let at = self.waiting.iter().position(|it| *it == action);
        let begun = at.and_then(|at| self.waiting.remove(at));
        if begun.is_some() {
            set(&mut self.states, action, State::Begun);
        }
        begun.is_some()
    }

    /// Takes an action back that was next, and was not executed: it is the next again.
    pub(super) fn put_back(&mut self, action: usize) {
        set(&mut self.states, action, State::Waiting);
        self.waiting.push_front(action);
    }

    /// Notes how an action ended.
    pub(super) fn ended(&mut self, action: usize, succeeded: bool) {
        let state = if succeeded { State::Succeeded } else { State::Failed };
        set(&mut self.states, action, state);
        if succeeded {
            return;
        }
        if !self.keeps_going {
            self.waiting.drain(..).for_each(|it| set(&mut self.states, it, State::Skipped));
        }
        // Those come later that need one which is skipped now.
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.retain(|it| {
            let lost = |need: &usize| {
                matches!(self.states.get(*need), Some(State::Failed | State::Skipped))
            };
            let is_lost = self.graph.needs(*it).iter().any(lost);
            if is_lost {
                set(&mut self.states, *it, State::Skipped);
            }
            !is_lost
        });
        self.waiting = waiting;
    }

    /// Returns what is known of an action.
    pub(super) fn state(&self, action: usize) -> State {
        self.states.get(action).copied().unwrap_or(State::Unwanted)
    }

    /// Returns how many actions are over, and how many there are.
    pub(super) fn counts(&self) -> (usize, usize) {
        let is = |state: State| self.states.iter().filter(|it| **it == state).count();
        let all = self.states.len() - is(State::Unwanted);
        (all - is(State::Waiting) - is(State::Begun), all)
    }
}

fn set(states: &mut [State], action: usize, state: State) {
    if let Some(known) = states.get_mut(action) {
        *known = state;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use endow_policy::{Action, Origin, Stated};

    use super::*;

    fn graph(needs: &[&[usize]]) -> Graph {
        let name = |number: usize| format!("a{number}");
        let action = |(number, needs): (usize, &&[usize])| Action {
            name: name(number),
            command: vec!["true".to_owned()],
            inputs: Vec::new(),
            outputs: Vec::new(),
            needs: needs.iter().map(|it| Stated::new(name(*it), Origin::Default)).collect(),
            environment: BTreeMap::new(),
            timeout: None,
            tools: Vec::new(),
            is_cached: true,
            origin: Origin::Default,
        };
        let actions: Vec<Action> = needs.iter().enumerate().map(action).collect();
        Graph::new(&actions, &[]).expect("a graph")
    }

    /// A diamond, and one beside it: 3 needs 1 and 2, which need 0.
    const DIAMOND: [&[usize]; 5] = [&[], &[0], &[0], &[1, 2], &[]];

    fn all_next(schedule: &mut Schedule<'_>) -> Vec<usize> {
        std::iter::from_fn(|| schedule.next()).collect()
    }

    #[test]
    fn action_is_next_when_all_that_it_needs_is_there() {
        let graph = graph(&DIAMOND);
        let mut schedule = Schedule::new(&graph, 5, false);
        assert_eq!(schedule.ready().collect::<Vec<_>>(), [0, 4]);
        assert_eq!(all_next(&mut schedule), [0, 4]);
        assert_eq!(schedule.ready().count(), 0);
        schedule.ended(0, true);
        assert_eq!(all_next(&mut schedule), [1, 2]);
        schedule.ended(2, true);
        assert_eq!(all_next(&mut schedule), [0; 0]);
        schedule.ended(1, true);
        assert_eq!(all_next(&mut schedule), [3]);
        assert_eq!(schedule.counts(), (3, 5));
    }

    #[test]
    fn action_begins_out_of_its_turn_and_once() {
        let graph = graph(&DIAMOND);
        let mut schedule = Schedule::new(&graph, 5, false);
        assert!(schedule.begin(4) && !schedule.begin(4));
        assert_eq!(schedule.next(), Some(0));
        schedule.ended(4, false);
        assert!(!schedule.begin(1), "the build is over");
        assert_eq!(schedule.state(1), State::Skipped);
    }

    #[test]
    fn failure_ends_the_build() {
        let graph = graph(&DIAMOND);
        let mut schedule = Schedule::new(&graph, 5, false);
        assert_eq!(schedule.next(), Some(0));
        schedule.ended(0, false);
        assert_eq!(schedule.next(), None);
        let states: Vec<State> = (0..5).map(|it| schedule.state(it)).collect();
        let skipped = [State::Skipped; 4];
        assert_eq!(states, [&[State::Failed], skipped.as_slice()].concat());
        assert_eq!(schedule.counts(), (5, 5));
    }

    #[test]
    fn what_was_not_executed_yet_is_next_again_or_never() {
        let graph = graph(&DIAMOND);
        for (keeps_going, next, state) in
            [(true, Some(4), State::Begun), (false, None, State::Skipped)]
        {
            let mut schedule = Schedule::new(&graph, 5, keeps_going);
            assert_eq!(all_next(&mut schedule), [0, 4]);
            schedule.put_back(4);
            assert_eq!(schedule.counts(), (0, 5));
            schedule.ended(0, false);
            assert_eq!(schedule.next(), next);
            assert_eq!(schedule.state(4), state);
        }
    }

    #[test]
    fn what_needs_nothing_of_a_failure_goes_on_when_asked() {
        let graph = graph(&DIAMOND);
        let mut schedule = Schedule::new(&graph, 5, true);
        assert_eq!(all_next(&mut schedule), [0, 4]);
        schedule.ended(0, true);
        assert_eq!(all_next(&mut schedule), [1, 2]);
        schedule.ended(1, false);
        schedule.ended(2, true);
        schedule.ended(4, true);
        assert_eq!(all_next(&mut schedule), [0; 0]);
        assert_eq!(schedule.state(3), State::Skipped);
        assert_eq!(schedule.counts(), (5, 5));
    }
}
