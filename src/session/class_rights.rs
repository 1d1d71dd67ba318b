//! Checks whether the rights of a class folder keep its learners apart: which users could read, reset or replace
//! another learner's session.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use uzers::{
    get_effective_gid, get_effective_uid, get_group_by_gid, get_user_by_name, get_user_by_uid,
    get_user_groups, group_access_list,
};

pub use super::error::PERMISSIONS;
use crate::{SessionError, SessionLocation, check_learner, class_file, inbox, order_copy};
use tinyllama_base::inside;
use tinyllama_base::safe_path::{Refused, SafeFolder};
use tinyllama_runs::launcher::SITE;

const STICKY: u32 = 0o1000;
const SET_GROUP: u32 = 0o2000;
const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;
const ROOT: u32 = 0;

/// Refuses a class in which other learners could access this user's session.
///
/// # Errors
/// The first danger found.
pub fn check(class: &Path) -> Result<(), SessionError> {
    for_learner(class).into_iter().next().map_or(Ok(()), |why| {
        let path = class.to_path_buf();
        Err(SessionError::UnsafeClass { path, why })
    })
}

/// Dangers to this user's session, one sentence each.
pub fn for_learner(class: &Path) -> Vec<String> {
    let Ok(found) = fs::metadata(class) else {
        return Vec::new();
    };
    let me = get_effective_uid();
    let groups = group_access_list().unwrap_or_default();
    let is_member =
        get_effective_gid() == found.gid() || groups.iter().any(|group| group.gid() == found.gid());
    let is_learner = me != found.uid() && me != ROOT;
    let read = (is_shared(&found) && is_learner && is_member).then(|| {
        format!(
            "you are in the group {}: everyone in it may read every session of the class and give orders to \
             it",
            group_name(&found)
        )
    });
    replaced(&found).into_iter().chain(read).collect()
}

/// Dangers to the sessions of a class, one sentence each, as far as this user may see them.
pub fn for_instructor(class: &Path) -> Vec<String> {
    let Ok(found) = fs::metadata(class) else {
        return Vec::new();
    };
    let members: Vec<String> = match is_shared(&found) {
        true => owners(class)
            .filter(|owner| *owner != found.uid() && *owner != ROOT)
            .filter_map(|owner| member_name(owner, found.gid()))
            .collect(),
        false => Vec::new(),
    };
    let read = (!members.is_empty()).then(|| {
        format!(
            "the group {} may read every session of the class and give orders to it, and learners are in it: {}",
            group_name(&found),
            members.join(", ")
        )
    });
    replaced(&found).into_iter().chain(read).collect()
}

fn is_shared(class: &Metadata) -> bool {
    class.mode() & SET_GROUP != 0
}

/// Without the sticky bit, a user who may write into the folder can replace a learner's folder by another one.
fn replaced(class: &Metadata) -> Option<String> {
    let mode = class.mode();
    let writers = match () {
        () if mode & STICKY != 0 => return None,
        () if mode & OTHERS_WRITE != 0 => "everybody".to_string(),
        () if mode & GROUP_WRITES != 0 && !has_private_group(class) => {
            format!("the group {}", group_name(class))
        }
        () => return None,
    };
    Some(format!(
        "{writers} may write into it and it has no sticky bit, so each of them can replace another's session"
    ))
}

/// Many systems give every user a private group of the same name.
fn has_private_group(class: &Metadata) -> bool {
    let group = get_group_by_gid(class.gid());
    let owner = get_user_by_uid(class.uid());
    group
        .zip(owner)
        .is_some_and(|(group, owner)| group.name() == owner.name())
}

fn group_name(class: &Metadata) -> String {
    let group = get_group_by_gid(class.gid());
    group.map_or(class.gid().to_string(), |group| {
        group.name().to_string_lossy().into_owned()
    })
}

/// Entries of a class folder that tutors ignore or that are not what their names say, one sentence each with the path.
pub fn strange_entries(class: &Path) -> Vec<String> {
    let Ok(folder) = SafeFolder::open_owned(class) else {
        return Vec::new();
    };
    let at = |name: &str| class.join(name).display().to_string();
    let settings = CLASS_ENTRIES.iter().filter_map(|name| {
        let stranger = folder.stranger(OsStr::new(name))?;
        let (path, user) = (at(name), user_name(stranger));
        Some(format!(
            "{path} belongs to {user}, not to the owner of the class, so it is ignored: move it away."
        ))
    });
    let folders = learner_folders(class);
    let class_owner = fs::metadata(class).map_or(ROOT, |found| found.uid());
    let several = owners_of_several(&folders, class_owner);
    let learners = folders.into_iter().filter_map(|(name, owner)| {
        let named = get_user_by_name(&name).map(|user| user.uid());
        let location = SessionLocation::new(class, &name);
        match inbox::waiting(&location) {
            _ if named.is_some_and(|uid| uid != owner) => Some(format!(
                "{} belongs to {}, not to {name}: ask both, and move it away.",
                at(&name),
                user_name(owner)
            )),
            Err(SessionError::Io { path, source, .. })
                if Refused::from_error(&source).is_some() =>
            {
                Some(format!(
                    "{}: {source}; orders to {name} cannot be delivered.",
                    path.display()
                ))
            }
            _ => None,
        }
    });
    settings.chain(learners).chain(several).collect()
}

/// A name without an account of its own can be taken by somebody who has a folder already.
fn owners_of_several(folders: &[(String, u32)], class_owner: u32) -> Vec<String> {
    let mut names: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
    for (name, owner) in folders {
        names.entry(*owner).or_default().push(name);
    }
    names.retain(|owner, names| names.len() > 1 && ![ROOT, class_owner].contains(owner));
    let warning = |(owner, names): (u32, Vec<&str>)| {
        format!(
            "{} has the folders of several learners: {}. If one of them is somebody else, move that folder away.",
            user_name(owner),
            names.join(", ")
        )
    };
    names.into_iter().map(warning).collect()
}

/// Entries of a class folder that are no learner's.
const CLASS_ENTRIES: [&str; 4] = [class_file::NAME, SITE, ".prepared", order_copy::FOLDER];

fn user_name(id: u32) -> String {
    let user = get_user_by_uid(id);
    user.map_or(format!("user {id}"), |user| {
        user.name().to_string_lossy().into_owned()
    })
}

/// Names and owners of the folders of a class.
fn learner_folders(class: &Path) -> Vec<(String, u32)> {
    let folders = inside(class).unwrap_or_default().into_iter();
    let found = folders.filter_map(|folder| {
        let facts = fs::symlink_metadata(&folder)
            .ok()
            .filter(Metadata::is_dir)?;
        let name = folder.file_name()?.to_str()?;
        check_learner(name).ok()?;
        Some((name.to_owned(), facts.uid()))
    });
    found.collect()
}

/// Ids of the users whose folders lie in the class.
fn owners(class: &Path) -> impl Iterator<Item = u32> {
    let folders = learner_folders(class).into_iter();
    let mut owners: Vec<u32> = folders.map(|(_, owner)| owner).collect();
    owners.sort_unstable();
    owners.dedup();
    owners.into_iter()
}

/// The user's name, if the password database lists the user in the group.
fn member_name(user: u32, group: u32) -> Option<String> {
    let user = get_user_by_uid(user)?;
    let groups = get_user_groups(user.name(), user.primary_group_id())?;
    groups
        .iter()
        .any(|known| known.gid() == group)
        .then(|| user.name().to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_name_that_another_learner_took_is_told() {
        let folders = [("ada", 70001), ("carol", 70002), ("eve", 70002)];
        let folders = folders.map(|(name, owner)| (name.to_owned(), owner));
        let told = owners_of_several(&folders, 70009);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(
            told[0].starts_with("user 70002 has the folders of several learners: carol, eve."),
            "{told:?}"
        );
        // An instructor may keep what is in a class.
        assert!(owners_of_several(&folders, 70002).is_empty());
    }

    #[test]
    fn a_folder_that_all_may_write_needs_the_sticky_bit() {
        let class = tempfile::tempdir().unwrap();
        for (mode, is_safe) in [
            (0o777, false),
            (0o1777, true),
            (0o755, true),
            (0o3773, true),
        ] {
            fs::set_permissions(class.path(), Permissions::from_mode(mode)).unwrap();
            assert_eq!(check(class.path()).is_ok(), is_safe, "{mode:o}");
            assert_eq!(for_instructor(class.path()).is_empty(), is_safe, "{mode:o}");
        }
    }
}
