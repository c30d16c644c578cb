use std::collections::{BTreeMap, HashMap};

use super::name_store::{GivenNames, Holder};

/// Maps the names that clients see to the servers' own names.
///
/// Names are assigned in the order of the configuration. The first server keeps a name, even while it is down. A
/// later server's name gets the server's name as a prefix. So a name keeps its meaning, no matter which servers
/// are up. Names that were assigned earlier take precedence, in any order.
#[derive(Debug, Default)]
pub(crate) struct ToolNames {
    shown: HashMap<String, (usize, String)>,
    /// For each server, its own names and the names that clients see.
    by_server: Vec<BTreeMap<String, String>>,
}

impl ToolNames {
    /// Assigns names to servers, each with its name and its own tool names.
    pub(crate) fn assign<'n>(servers: impl IntoIterator<Item = (&'n str, Vec<String>)>) -> Self {
        Self::default().and(servers)
    }

    /// Restores the stored names. Names of servers that are no longer configured become free.
    pub(crate) fn kept(servers: &[&str], given: &GivenNames) -> Self {
        let mut names = Self { by_server: vec![BTreeMap::new(); servers.len()], ..Self::default() };
        for (shown, Holder { server, tool }) in given {
            let Some(server) = servers.iter().position(|name| name == server) else { continue };
            names.shown.insert(shown.clone(), (server, tool.clone()));
            // A server that was alone for some time may have the same tool with and without a prefix.
            let listed =
                names.by_server[server].entry(tool.clone()).or_insert_with(|| shown.clone());
            if shown == tool {
                listed.clone_from(shown);
            }
        }
        names
    }

    /// Assigns a single server's own names.
    pub(crate) fn alone(mut self, tools: &[String]) -> Self {
        self.by_server.resize_with(self.by_server.len().max(1), BTreeMap::new);
        for tool in tools {
            self.shown.insert(tool.clone(), (0, tool.clone()));
            self.by_server[0].insert(tool.clone(), tool.clone());
        }
        self
    }

    /// Returns all assigned names with the names of their servers.
    pub(crate) fn given(&self, servers: &[&str]) -> GivenNames {
        let holder = |(server, tool): &(usize, String)| {
            let server = (*servers.get(*server)?).to_owned();
            Some(Holder { server, tool: tool.clone() })
        };
        self.shown.iter().filter_map(|(shown, held)| Some((shown.clone(), holder(held)?))).collect()
    }

    /// Assigns further names. Names that were assigned earlier do not change.
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

    /// Returns the name itself, or a free name with a prefix.
    fn free(&self, prefix: &str, name: &str) -> String {
        let is_free = |candidate: &String| !self.shown.contains_key(candidate);
        let prefixed = format!("{prefix}_{name}");
        let numbered = (2..).map(|number: u32| format!("{prefixed}_{number}"));
        let mut candidates =
            [name.to_owned(), prefixed.clone()].into_iter().chain(numbered).filter(is_free);
        // There are more numbers than names, so one is always free.
        candidates.next().unwrap_or(prefixed)
    }

    /// Returns true if no name was assigned yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    /// Returns the server and its own name for a name that clients see.
    pub(crate) fn behind(&self, shown: &str) -> Option<(usize, &str)> {
        self.shown.get(shown).map(|(server, name)| (*server, name.as_str()))
    }

    /// Returns the name that clients see for a server's own name.
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
        // This holds even if the server no longer lists the tool.
        assert_eq!((names.shown(0, "y"), names.behind("y")), (Some("a_y"), Some((1, "y"))));
        assert_eq!((names.shown(0, "z"), names.shown(1, "z")), (Some("z"), Some("b_z")));
        // The names of a removed server become free. A tool that already has a name keeps it.
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
        // The first holder keeps a name when an earlier server later claims it.
        let names = ToolNames::assign([("a", list(&[])), ("b", list(&["x"]))]);
        let names = names.and([("a", list(&["x"])), ("b", list(&["x"]))]);
        assert_eq!((names.shown(0, "x"), names.shown(1, "x")), (Some("a_x"), Some("x")));
    }
}
