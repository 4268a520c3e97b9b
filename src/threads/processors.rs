//! How many processors this process may use: those that its affinity names, as far as the quota of its control group goes.
//!
//! The standard library rounds a quota down: a container of 1.9 processors would get one thread. Here a fraction counts as a
//! processor.

use std::fs::read_to_string;
use std::path::Path;

/// The number of processors, at least 1.
pub(super) fn processors() -> usize {
    let Some(named) = affinity() else {
        return std::thread::available_parallelism().map_or(1, usize::from);
    };
    allowed(named, Path::new("/"))
}

/// The number of processors that this thread may run on.
#[cfg(target_os = "linux")]
fn affinity() -> Option<usize> {
    // SAFETY: a set is an array of integers, for which zeros are valid.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set may be written for its size. 0 is this thread.
    let failed = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) } != 0;
    // SAFETY: the set is initialised.
    let count = unsafe { libc::CPU_COUNT(&set) };
    usize::try_from(count).ok().filter(|&count| count > 0 && !failed)
}

#[cfg(not(target_os = "linux"))]
fn affinity() -> Option<usize> {
    None
}

/// Of the processors that the affinity names, as many as the files below `root` allow: `cpu.max` (`cpu.cfs_quota_us` in version 1)
/// of the control group that `proc/thread-self/cgroup` names, and of those around it.
fn allowed(named: usize, root: &Path) -> usize {
    let groups = read_to_string(root.join("proc/thread-self/cgroup")).unwrap_or_default();
    let quotas = groups.lines().filter_map(|line| quota(root, line));
    quotas.fold(named, usize::min).max(1)
}

/// The least quota of a control group and those around it, in processors, rounded up. `group` is a line such as
/// `0::/user.slice` or `4:cpu,cpuacct:/docker/1f`. `None` if there is no limit.
fn quota(root: &Path, group: &str) -> Option<usize> {
    let [_, controllers, path] = group.splitn(3, ':').collect::<Vec<_>>()[..] else { return None };
    let mount = match controllers {
        "" => root.join("sys/fs/cgroup"),
        _ if controllers.split(',').any(|c| c == "cpu") => root.join("sys/fs/cgroup").join(controllers),
        _ => return None,
    };
    // Inside a container the path may be the host's, and only the mount itself is there.
    let inside = Path::new(path.trim_start_matches('/'));
    inside.ancestors().filter_map(|group| limit(&mount.join(group))).min()
}

/// The quota of one control group.
fn limit(group: &Path) -> Option<usize> {
    let number = |text: &str| text.trim().parse::<u64>().ok().filter(|&n| n > 0);
    let file = |name: &str| read_to_string(group.join(name)).ok();
    let (quota, period) = match file("cpu.max") {
        Some(text) => {
            let (quota, period) = text.trim().split_once(' ')?;
            (number(quota)?, number(period)?)
        }
        None => (number(&file("cpu.cfs_quota_us")?)?, number(&file("cpu.cfs_period_us")?)?),
    };
    usize::try_from(quota.div_ceil(period)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What these files allow of eight processors.
    fn of(files: &[(&str, &str)]) -> usize {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        allowed(8, root.path())
    }

    const GROUP: &str = "proc/thread-self/cgroup";

    #[test]
    fn without_files_the_affinity_counts() {
        assert_eq!(of(&[]), 8);
        assert_eq!(of(&[(GROUP, "0::/none\n")]), 8);
        assert_eq!(of(&[(GROUP, "no group")]), 8);
    }

    #[test]
    fn quotas_are_rounded_up() {
        let max = |text: &str| of(&[(GROUP, "0::/\n"), ("sys/fs/cgroup/cpu.max", text)]);
        assert_eq!(max("max 100000\n"), 8);
        assert_eq!(max("100000 100000\n"), 1);
        assert_eq!(max("150000 100000\n"), 2);
        assert_eq!(max("1000 100000\n"), 1);
        assert_eq!(max("790000 100000\n"), 8);
        assert_eq!(max("9000000 100000\n"), 8);
        for wrong in ["", "0 100000\n", "100000 0\n", "100000\n", "-1 100000\n"] {
            assert_eq!(max(wrong), 8, "{wrong:?}");
        }
    }

    #[test]
    fn groups_around_a_group_limit_it_too() {
        let nested = |inner: &str, outer: &str| {
            of(&[
                (GROUP, "0::/pod/one\n"),
                ("sys/fs/cgroup/pod/one/cpu.max", inner),
                ("sys/fs/cgroup/pod/cpu.max", outer),
            ])
        };
        assert_eq!(nested("max 100000\n", "250000 100000\n"), 3);
        assert_eq!(nested("200000 100000\n", "250000 100000\n"), 2);
        // In a container the path is the host's, and the group's own files lie at the mount.
        let host = [(GROUP, "0::/docker/1f\n"), ("sys/fs/cgroup/cpu.max", "50000 100000\n")];
        assert_eq!(of(&host), 1);
    }

    #[test]
    fn version_1_has_files_of_its_own() {
        let group = "5:memory:/a\n4:cpu,cpuacct:/a\n";
        let quota = |text: &str| {
            of(&[
                (GROUP, group),
                ("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", text),
                ("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n"),
            ])
        };
        assert_eq!(quota("-1\n"), 8);
        assert_eq!(quota("210000\n"), 3);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_may_use_some() {
        // The standard library takes the same affinity, and rounds a quota down.
        let known = std::thread::available_parallelism().map_or(1, usize::from);
        assert!(processors() >= known && processors() <= 2 * known, "{} and {known}", processors());
    }
}
