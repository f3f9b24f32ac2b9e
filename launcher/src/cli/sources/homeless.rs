//! What is said to a user without a home.

use super::surroundings::Surroundings;
use crate::cli::output::Output;

/// Says that what is kept in a home would not be found; `what` names it.
pub(crate) fn tell(surroundings: &Surroundings, what: &str, output: &Output) {
    if let Some(place) = surroundings.in_the_place_of_home() {
        let place = place.display();
        output
            .caution(&format!("there is no home: {what} are looked for in memory, as in {place}"));
        output.hint("set HOME, or ENDOW_CONFIG_DIR and ENDOW_STATE_DIR");
    }
}
