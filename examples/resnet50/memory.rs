//! The memory that the runs of a network use, as the system counts it.

use blocktensor::ledger::Ledger;
use blocktensor_nets::Network;

/// Peak resident memory during the runs, and the parts of its bound; all in **bytes**.
pub struct Peak {
    /// Growth since before the weights were loaded.
    grown: usize,
    packed: usize,
    /// The two largest activations.
    activations: usize,
    scratchpad: usize,
}

impl Peak {
    /// The peak of the runs since [`forget_peak`]; `None` if the system does not report it.
    pub fn of_runs(before: Option<usize>, network: &Network, book: &Ledger) -> Option<Peak> {
        let grown = status("VmHWM:")?.saturating_sub(before?);
        let scratchpad = book.runs.iter().map(|r| r.scratchpad_bytes).max().unwrap_or(0);
        let activations = network.largest_activations().iter().sum();
        Some(Peak { grown, packed: network.packed_bytes(), activations, scratchpad })
    }

    pub fn grown(&self) -> f64 {
        self.grown as f64 / 1e6
    }
}

impl std::fmt::Display for Peak {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Peak { grown, packed, activations, scratchpad } = *self;
        let bound = packed + packed / 5 + activations + scratchpad;
        let mb = |bytes: usize| bytes as f64 / 1e6;
        write!(
            f,
            "{:.1} MB, {} the {:.1} MB of 1.2 times the packed weights ({:.1}), the two largest activations ({:.1}) and \
             the largest scratchpad ({:.1})",
            mb(grown),
            if grown <= bound { "within" } else { "above" },
            mb(bound),
            mb(packed),
            mb(activations),
            mb(scratchpad)
        )
    }
}

/// Resident memory now.
pub fn resident() -> Option<usize> {
    status("VmRSS:")
}

/// Resets the peak.
pub fn forget_peak() {
    // Writing 5 resets it (proc(5), clear_refs); if that is not allowed, the peak includes packing.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

fn status(field: &str) -> Option<usize> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix(field))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok()? * 1024)
}
