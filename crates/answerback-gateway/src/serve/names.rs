use std::collections::{BTreeMap, HashMap};

/// Which name of which server stands behind a name that clients see.
///
/// Names are given out in the order of the configuration: who comes first keeps a name, whether it is there or not; a
/// later server's is prefixed with the server's own name. So a name means the same, whichever servers are up.
#[derive(Debug, Default)]
pub(crate) struct Names {
    shown: HashMap<String, (usize, String)>,
    /// By server, the shown name of each of its names.
    by_server: Vec<BTreeMap<String, String>>,
}

impl Names {
    /// Gives names out to servers, each with its name and the names that it claims.
    pub(crate) fn assign<'n>(servers: impl IntoIterator<Item = (&'n str, Vec<String>)>) -> Self {
        Self::default().and(servers)
    }

    /// Gives out more names. Those that were given out before stay with whom they are.
    pub(crate) fn and<'n>(
        mut self,
        servers: impl IntoIterator<Item = (&'n str, Vec<String>)>,
    ) -> Self {
        for (server, (prefix, claimed)) in servers.into_iter().enumerate() {
            if self.by_server.len() == server {
                self.by_server.push(BTreeMap::new());
            }
            for name in claimed {
                if self.by_server[server].contains_key(&name) {
                    continue;
                }
                let shown = self.free(prefix, &name);
                self.shown.insert(shown.clone(), (server, name.clone()));
                self.by_server[server].insert(name, shown);
            }
        }
        self
    }

    /// The name itself, or one with a prefix that nobody has.
    fn free(&self, prefix: &str, name: &str) -> String {
        let is_free = |candidate: &String| !self.shown.contains_key(candidate);
        let prefixed = format!("{prefix}_{name}");
        let numbered = (2..).map(|number: u32| format!("{prefixed}_{number}"));
        let mut candidates =
            [name.to_owned(), prefixed.clone()].into_iter().chain(numbered).filter(is_free);
        // There are more numbers than names.
        candidates.next().unwrap_or(prefixed)
    }

    /// The server behind a shown name, and what the server calls it.
    pub(crate) fn behind(&self, shown: &str) -> Option<(usize, &str)> {
        self.shown.get(shown).map(|(server, name)| (*server, name.as_str()))
    }

    /// What clients call a name of a server.
    pub(crate) fn shown(&self, server: usize, name: &str) -> Option<&str> {
        self.by_server.get(server)?.get(name).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_keeps_its_name() {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let names = Names::assign([
            ("files", list(&["read", "write", "read"])),
            ("web", list(&["read", "get", "files_read"])),
            ("more", list(&["web_read", "read", "more_web_read"])),
        ]);
        let shown = |server, name| names.shown(server, name).unwrap();
        assert_eq!(
            (shown(0, "read"), shown(1, "read"), shown(2, "read")),
            ("read", "web_read", "more_read")
        );
        assert_eq!((shown(1, "get"), shown(2, "web_read")), ("get", "more_web_read"));
        assert_eq!(shown(2, "more_web_read"), "more_more_web_read");
        assert_eq!(names.behind("web_read"), Some((1, "read")));
        assert_eq!(names.behind("nothing"), None);
        assert_eq!(names.shown(7, "read"), None);
        // Who had a name first keeps it, when somebody before it comes to claim the same.
        let names = Names::assign([("a", list(&[])), ("b", list(&["x"]))]);
        let names = names.and([("a", list(&["x"])), ("b", list(&["x"]))]);
        assert_eq!((names.shown(0, "x"), names.shown(1, "x")), (Some("a_x"), Some("x")));
    }
}
