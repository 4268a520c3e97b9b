//! Rows that no call by name reaches: their remedies are followed too.

use blocktensor::{Error, Operand, Result, Tensor};

use super::refused;
use crate::remedies::calls::{Remedy, remedy};

/// The error of a row. What its remedy says must be done before it is dropped: see the methods.
#[must_use = "follow its remedy"]
pub struct Refused {
    what: String,
    /// `None` after the remedy was followed.
    error: Option<Error>,
}

/// As `refused`, for a row whose remedy is followed with the methods of what it returns.
#[track_caller]
pub fn row<T>(
    what: impl Into<String>,
    code: i32,
    holds: &[&str],
    operands: &[&Tensor],
    call: impl FnOnce() -> Result<T>,
) -> Refused {
    let what = what.into();
    let error = Some(refused(&what, code, holds, operands, call));
    Refused { what, error }
}

impl Refused {
    /// Makes the calls that the remedy names with the tensor that is the argument at fault, and the first call with the result.
    #[track_caller]
    pub fn retry<T>(mut self, operand: &impl Operand, call: impl FnOnce(&Tensor) -> Result<T>) {
        let error = self.error.take().expect("it was not followed before");
        let argument: &'static str = error.complaint().map_or("x", |c| c.argument.to_string().leak());
        let given = vec![(argument, operand.tensor_ref().to_tensor().into())];
        let made = match remedy(&error, &given) {
            Remedy::Made(made) => made,
            Remedy::None => panic!("{}: the remedy names no call: {error}", self.what),
            Remedy::Impossible(why) => panic!("{}: {why}: {error}", self.what),
        };
        let [(_, blocktensor::dispatch::Value::Tensor(t))] = &made[..] else { unreachable!("one operand") };
        self.ends_well(&error, call(t));
    }

    /// For a remedy that is no call of a tensor's: `advice` is what it says, and `follow` does that, and then what the first call
    /// was for.
    #[track_caller]
    pub fn by_hand<T>(mut self, advice: &str, follow: impl FnOnce() -> Result<T>) {
        let error = self.error.take().expect("it was not followed before");
        let remedy = &error.complaint().unwrap_or_else(|| panic!("{}: {error}", self.what)).remedy;
        assert!(
            !advice.is_empty() && remedy.contains(advice),
            "{}: it says something else: {error}",
            self.what
        );
        self.ends_well(&error, follow());
    }

    #[track_caller]
    fn ends_well<T>(&self, error: &Error, result: Result<T>) {
        if let Err(next) = result {
            panic!("{}: the remedy does not help: {error}\n-> {next}", self.what);
        }
    }
}

impl Drop for Refused {
    fn drop(&mut self) {
        if let (Some(error), false) = (&self.error, std::thread::panicking()) {
            panic!("{}: nothing follows its remedy: {error}", self.what);
        }
    }
}

fn a_row() -> Refused {
    let x = blocktensor::StridedTensor::from_slice(&[0f32; 6], &[2, 3]).unwrap();
    Refused { what: "row 33".to_string(), error: x.narrow(1, 2, 6).err() }
}

#[test]
#[should_panic(expected = "nothing follows its remedy")]
fn a_row_without_a_follow_up_fails() {
    drop(a_row());
}

#[test]
#[should_panic(expected = "the remedy does not help")]
fn a_remedy_that_leads_back_to_its_error_fails() {
    let again = a_row().error.take().unwrap();
    a_row().by_hand("stay within the size", || Err::<(), Error>(again));
}

#[test]
#[should_panic(expected = "it says something else")]
fn a_follow_up_of_other_advice_fails() {
    a_row().by_hand("use smaller sizes", || Ok(()));
}
