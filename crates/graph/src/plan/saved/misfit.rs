//! Packed weights that do not fit the machine that reads them, or its number of threads.

use blocktensor::{Call, Complaint, PackedFile, Text, counted};

use super::stored::Stored;
use crate::error::Error;

impl Stored {
    /// The remedy for weights that do not fit here, of a file that keeps no plain ones. A plan in bf16 is saved without them.
    fn no_plain(&self) -> Text {
        let again = "plan the model again here";
        match self.rounds_constants() {
            true => again.into(),
            false => {
                Text::from("save the plan with plain weights (") + Call::KeepPlainOfPlan + "), or " + again
            }
        }
    }

    /// Why the packed weights do not fit here, for a file that keeps no plain ones.
    pub(super) fn misfit(&self, file: &PackedFile) -> Option<blocktensor::Error> {
        let remedy = self.no_plain();
        if let Some(blocktensor::Error::PackMismatch(complaint)) = file.misfit() {
            let complaint = Complaint { remedy, ..*complaint };
            return Some(blocktensor::Error::PackMismatch(Box::new(complaint)));
        }
        let here = blocktensor::current_threads();
        (self.threads != here)
            .then(|| self.of_threads("Plan::load_or_replan", ", without plain weights", remedy))
    }

    /// The error about the number of threads.
    fn of_threads(&self, op: &'static str, more: &str, remedy: Text) -> blocktensor::Error {
        let got = format!("a plan packed for {}{more}", counted(self.threads, "thread"));
        let rule = format!("a run here has {}", counted(blocktensor::current_threads(), "thread"));
        let remedy = PackedFile::with_threads(self.threads, remedy);
        blocktensor::Error::PackMismatch(Complaint::new(op, "file", got, rule, remedy))
    }

    /// The same error about the plan, if one node's weights are for another number of threads: all of them are. Other errors about
    /// weights get a remedy that a plan has.
    pub(super) fn of_plan(&self, error: Error, file: &PackedFile) -> Error {
        let Error::Engine(blocktensor::Error::PackMismatch(complaint)) = error else { return error };
        let remedy = match self.keeps_plain(file) {
            true => Text::from("open the file with ") + Call::ReadOrRepack + ", or plan the model again here",
            false => self.no_plain(),
        };
        match file.misfit().is_some() || self.threads == blocktensor::current_threads() {
            true => blocktensor::Error::PackMismatch(Box::new(Complaint { remedy, ..*complaint })).into(),
            false => self.of_threads("Plan::load", "", remedy).into(),
        }
    }
}
