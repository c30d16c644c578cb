use std::collections::{BTreeMap, HashMap};

use super::name_store::{GivenNames, Holder};

/// Which name of which server stands behind a name that clients see.
///
/// Names are given out in the order of the configuration: who comes first keeps a name, whether it is there or not; a
/// later server's is prefixed with the server's own name. So a name means the same, whichever servers are up. What was
/// given out before, whatever the order was then, comes before all.
#[derive(Debug, Default)]
pub(crate) struct ToolNames {
    shown: HashMap<String, (usize, String)>,
    /// By server, the shown name of each of its names.
    by_server: Vec<BTreeMap<String, String>>,
}

impl ToolNames {
    /// Gives names out to servers, each with its name and the names that it claims.
    pub(crate) fn assign<'n>(servers: impl IntoIterator<Item = (&'n str, Vec<String>)>) -> Self {
        Self::default().and(servers)
    }

    /// The names that servers have had before. Those of servers that are not among these are free.
    pub(crate) fn kept(servers: &[&str], given: &GivenNames) -> Self {
        let mut names = Self { by_server: vec![BTreeMap::new(); servers.len()], ..Self::default() };
        for (shown, Holder { server, tool }) in given {
            let Some(server) = servers.iter().position(|name| name == server) else { continue };
            names.shown.insert(shown.clone(), (server, tool.clone()));
            // A server that was alone for a while may have a name with and one without a prefix.
            let listed =
                names.by_server[server].entry(tool.clone()).or_insert_with(|| shown.clone());
            if shown == tool {
                listed.clone_from(shown);
            }
        }
        names
    }

    /// The names of the first of the servers, which is alone: they are what clients see.
    pub(crate) fn alone(mut self, tools: &[String]) -> Self {
        self.by_server.resize_with(self.by_server.len().max(1), BTreeMap::new);
        for tool in tools {
            self.shown.insert(tool.clone(), (0, tool.clone()));
            self.by_server[0].insert(tool.clone(), tool.clone());
        }
        self
    }

    /// Everything that was given out, by the names of the servers.
    pub(crate) fn given(&self, servers: &[&str]) -> GivenNames {
        let holder = |(server, tool): &(usize, String)| {
            let server = (*servers.get(*server)?).to_owned();
            Some(Holder { server, tool: tool.clone() })
        };
        self.shown.iter().filter_map(|(shown, held)| Some((shown.clone(), holder(held)?))).collect()
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

    /// Whether none was given out yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.shown.is_empty()
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
    fn who_had_a_name_keeps_it() {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let names = ToolNames::assign([("b", list(&["x", "y"]))]);
        let given = names.given(&["b"]);
        let names = ToolNames::kept(&["a", "b"], &given)
            .and([("a", list(&["x", "y", "z"])), ("b", list(&["x", "z"]))]);
        assert_eq!((names.shown(0, "x"), names.shown(1, "x")), (Some("a_x"), Some("x")));
        // Also where its server does not list it any more.
        assert_eq!((names.shown(0, "y"), names.behind("y")), (Some("a_y"), Some((1, "y"))));
        assert_eq!((names.shown(0, "z"), names.shown(1, "z")), (Some("z"), Some("b_z")));
        // A server that is gone from the configuration leaves its names; what has one keeps it.
        let given = names.given(&["a", "b"]);
        let names =
            ToolNames::kept(&["a", "c"], &given).and([("a", list(&["x"])), ("c", list(&["x"]))]);
        assert_eq!((names.shown(0, "x"), names.shown(1, "x")), (Some("a_x"), Some("x")));
    }

    #[test]
    fn the_first_keeps_its_name() {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let names = ToolNames::assign([
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
        let names = ToolNames::assign([("a", list(&[])), ("b", list(&["x"]))]);
        let names = names.and([("a", list(&["x"])), ("b", list(&["x"]))]);
        assert_eq!((names.shown(0, "x"), names.shown(1, "x")), (Some("a_x"), Some("x")));
    }
}
