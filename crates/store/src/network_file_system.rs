//! Detection of network file systems, on which SQLite's WAL mode is not safe: its shared memory and
//! locks work on one machine only.
//!
//! Called when a store is created and by `tl host doctor`, never when a command opens one. Only Linux
//! identifies a file system by a magic number; elsewhere nothing is detected.

use std::path::Path;

/// A network file system, by its common name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkFileSystem(pub &'static str);

/// The `statfs` type of every FUSE file system, local or not.
const FUSE_MAGIC: u64 = 0x6573_5546;

/// FUSE file systems with local files.
const LOCAL_FUSE: [&str; 8] = [
    "fuseblk",
    "fuse.ntfs-3g",
    "fuse.exfat",
    "fuse.gocryptfs",
    "fuse.encfs",
    "fuse.bindfs",
    "fuse.mergerfs",
    "fuse.fuse-overlayfs",
];

/// Classifies a file system by its `statfs` type and, for FUSE, by its type in the mount table.
fn classify_magic(
    magic: u64,
    mounted_as: impl FnOnce() -> Option<String>,
) -> Option<NetworkFileSystem> {
    let name = match magic {
        0x6969 => "NFS",
        0x517B | 0xFE53_4D42 | 0xFF53_4D42 => "SMB/CIFS",
        0x0102_1997 => "9p",
        0x5346_414F | 0x6B41_4653 => "AFS",
        0x7375_7245 => "Coda",
        0x564C => "NCP",
        0x0BD0_0BD0 => "Lustre",
        0x00C3_6400 => "Ceph",
        0x7461_636F => "OCFS2",
        0x0116_1970 => "GFS2",
        0x4750_4653 => "GPFS",
        0x1983_0326 => "BeeGFS",
        0x2003_0528 => "OrangeFS",
        // An allow-list: an unknown FUSE file system counts as remote, because a wrong "local" can
        // corrupt the database and a wrong "remote" only costs speed.
        FUSE_MAGIC => match mounted_as() {
            Some(kind) if LOCAL_FUSE.contains(&kind.as_str()) => return None,
            Some(kind) if kind == "fuse.sshfs" => "sshfs",
            _ => "FUSE",
        },
        _ => return None,
    };
    Some(NetworkFileSystem(name))
}

/// Returns the network file system a directory is on; `None` if it is local or unknown.
#[cfg(target_os = "linux")]
#[must_use]
pub fn network_file_system_at(directory: &Path) -> Option<NetworkFileSystem> {
    let found = rustix::fs::statfs(directory).ok()?;
    // A 32-bit number that some architectures sign-extend.
    let magic = u64::from(u32::try_from(found.f_type & 0xFFFF_FFFF).ok()?);
    classify_magic(magic, || {
        let device = rustix::fs::stat(directory).ok()?.st_dev;
        let device = format!(
            "{}:{}",
            rustix::fs::major(device),
            rustix::fs::minor(device)
        );
        find_mount_type(
            &std::fs::read_to_string("/proc/self/mountinfo").ok()?,
            &device,
        )
    })
}

/// Returns `None`: this platform has no portable way to tell.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn network_file_system_at(_directory: &Path) -> Option<NetworkFileSystem> {
    None
}

/// Returns the type of the file system with this device number from `/proc/self/mountinfo`.
fn find_mount_type(mounts: &str, device: &str) -> Option<String> {
    mounts.lines().find_map(|line| {
        // The number of fields before the separator varies, so those after it are found by the
        // dash.
        let (before, after) = line.split_once(" - ")?;
        (before.split(' ').nth(2)? == device).then(|| after.split(' ').next().map(str::to_owned))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_told_from_local_ones_by_their_type() {
        let unmounted = || None;
        for (magic, name) in [
            (0x6969, "NFS"),
            (0xFF53_4D42, "SMB/CIFS"),
            (0x0102_1997, "9p"),
            (0x00C3_6400, "Ceph"),
        ] {
            assert_eq!(
                classify_magic(magic, unmounted),
                Some(NetworkFileSystem(name))
            );
        }
        // ext4, XFS, btrfs, tmpfs, overlayfs, ZFS
        for magic in [
            0xEF53,
            0x5846_5342,
            0x9123_683E,
            0x0102_1994,
            0x794C_7630,
            0x2FC1_2FC1,
        ] {
            assert_eq!(classify_magic(magic, unmounted), None, "{magic:x}");
        }
    }

    #[test]
    fn a_fuse_file_system_is_remote_unless_its_mount_says_that_it_is_local() {
        let mounts = "36 35 98:0 / /mnt rw,noatime master:1 - fuse.sshfs anna@host:/ rw\n\
                      37 35 98:1 / /disk rw - fuseblk /dev/sdb1 rw\n";
        assert_eq!(
            find_mount_type(mounts, "98:0").as_deref(),
            Some("fuse.sshfs")
        );
        let judged = |device: &str| classify_magic(FUSE_MAGIC, || find_mount_type(mounts, device));
        assert_eq!(judged("98:0"), Some(NetworkFileSystem("sshfs")));
        assert_eq!(judged("98:1"), None);
        assert_eq!(
            judged("98:2"),
            Some(NetworkFileSystem("FUSE")),
            "unknown: the safe side"
        );
    }
}
