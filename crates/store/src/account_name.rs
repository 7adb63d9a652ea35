//! Name of the account this process runs under, for environments without `USER` (services, containers).

use std::fs;

const ACCOUNTS_FILE: &str = "/etc/passwd";

/// Returns the name of the account this process runs under. One that the file does not list, such as
/// that of a directory service or of a container, is named by its number: two of them differ.
pub fn account_name() -> String {
    let uid = rustix::process::getuid().as_raw();
    fs::read_to_string(ACCOUNTS_FILE)
        .ok()
        .and_then(|accounts| find_account(&accounts, uid))
        .unwrap_or_else(|| format!("uid-{uid}"))
}

/// Finds the name of a user id among the lines of `/etc/passwd`: `name:password:uid:…`.
fn find_account(accounts: &str, uid: u32) -> Option<String> {
    let uid = uid.to_string();
    accounts
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>())
        .find(|fields| fields.get(2).is_some_and(|field| *field == uid))
        .and_then(|fields| fields.first().map(|name| (*name).to_owned()))
        .filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_of_a_user_id_is_found_and_an_unknown_one_is_none() {
        let accounts =
            "root:x:0:0:root:/root:/bin/sh\nanna:x:1000:1000::/home/anna:/bin/sh\nbroken\n";
        assert_eq!(find_account(accounts, 1000).as_deref(), Some("anna"));
        assert_eq!(find_account(accounts, 1001), None);
        assert_eq!(find_account("", 0), None);
    }
}
