use std::collections::{BTreeMap, HashMap};

use super::tool_name_store::{AssignedNames, NameOwner};

/// Maps the names that clients see to the servers' own names.
///
/// Names are assigned in the order of the configuration. The first server keeps a name, even while it is down. A
/// later server's name gets the server's name as a prefix. So a name keeps its meaning, no matter which servers
/// are up. Names that were assigned earlier take precedence, in any order.
#[derive(Debug, Default)]
pub(crate) struct ToolNames {
    /// For each name that clients see, the server and its own name.
    by_client_name: HashMap<String, (usize, String)>,
    /// For each server, its own names and the names that clients see.
    by_server: Vec<BTreeMap<String, String>>,
}

impl ToolNames {
    /// Assigns names to servers, each with its name and its own tool names.
    pub(crate) fn assign<'n>(servers: impl IntoIterator<Item = (&'n str, Vec<String>)>) -> Self {
        Self::default().and(servers)
    }

    /// Restores the stored names. Names of servers that are no longer configured become free.
    pub(crate) fn restore(servers: &[&str], assigned: &AssignedNames) -> Self {
        let mut names = Self { by_server: vec![BTreeMap::new(); servers.len()], ..Self::default() };
        for (client_name, NameOwner { server, tool }) in assigned {
            let Some(server) = servers.iter().position(|name| name == server) else { continue };
            names.by_client_name.insert(client_name.clone(), (server, tool.clone()));
            // A server that was alone for some time may have the same tool with and without a prefix.
            let listed_name =
                names.by_server[server].entry(tool.clone()).or_insert_with(|| client_name.clone());
            if client_name == tool {
                listed_name.clone_from(client_name);
            }
        }
        names
    }

    /// Assigns a single server's own names.
    pub(crate) fn and_unprefixed(mut self, tools: &[String]) -> Self {
        self.by_server.resize_with(self.by_server.len().max(1), BTreeMap::new);
        for tool in tools {
            self.by_client_name.insert(tool.clone(), (0, tool.clone()));
            self.by_server[0].insert(tool.clone(), tool.clone());
        }
        self
    }

    /// Lists all assigned names with the names of their servers.
    pub(crate) fn assigned_names(&self, servers: &[&str]) -> AssignedNames {
        let owner = |(server, tool): &(usize, String)| {
            let server = (*servers.get(*server)?).to_owned();
            Some(NameOwner { server, tool: tool.clone() })
        };
        self.by_client_name
            .iter()
            .filter_map(|(client_name, tool)| Some((client_name.clone(), owner(tool)?)))
            .collect()
    }

    /// Assigns further names. Names that were assigned earlier do not change.
    pub(crate) fn and<'n>(
        mut self,
        servers: impl IntoIterator<Item = (&'n str, Vec<String>)>,
    ) -> Self {
        for (server, (prefix, names)) in servers.into_iter().enumerate() {
            if self.by_server.len() == server {
                self.by_server.push(BTreeMap::new());
            }
            for name in names {
                if self.by_server[server].contains_key(&name) {
                    continue;
                }
                let client_name = self.free_name(prefix, &name);
                self.by_client_name.insert(client_name.clone(), (server, name.clone()));
                self.by_server[server].insert(name, client_name);
            }
        }
        self
    }

    /// The name itself, or a free name with a prefix.
    fn free_name(&self, prefix: &str, name: &str) -> String {
        let is_free = |candidate: &String| !self.by_client_name.contains_key(candidate);
        let prefixed = format!("{prefix}_{name}");
        let numbered = (2..).map(|number: u32| format!("{prefixed}_{number}"));
        let mut candidates =
            [name.to_owned(), prefixed.clone()].into_iter().chain(numbered).filter(is_free);
        // There are more numbers than names, so one is always free.
        candidates.next().unwrap_or(prefixed)
    }

    /// True if no name was assigned yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_client_name.is_empty()
    }

    /// The server and its own name for a name that clients see.
    pub(crate) fn server_tool(&self, client_name: &str) -> Option<(usize, &str)> {
        self.by_client_name.get(client_name).map(|(server, name)| (*server, name.as_str()))
    }

    /// The name that clients see for a server's own name.
    pub(crate) fn client_name(&self, server: usize, name: &str) -> Option<&str> {
        self.by_server.get(server)?.get(name).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_names_stay_assigned() {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let names = ToolNames::assign([("b", list(&["x", "y"]))]);
        let stored = names.assigned_names(&["b"]);
        let names = ToolNames::restore(&["a", "b"], &stored)
            .and([("a", list(&["x", "y", "z"])), ("b", list(&["x", "z"]))]);
        assert_eq!(
            (names.client_name(0, "x"), names.client_name(1, "x")),
            (Some("a_x"), Some("x"))
        );
        // This holds even if the server no longer lists the tool.
        assert_eq!(
            (names.client_name(0, "y"), names.server_tool("y")),
            (Some("a_y"), Some((1, "y")))
        );
        assert_eq!(
            (names.client_name(0, "z"), names.client_name(1, "z")),
            (Some("z"), Some("b_z"))
        );
        // The names of a removed server become free. A tool that already has a name keeps it.
        let stored = names.assigned_names(&["a", "b"]);
        let names = ToolNames::restore(&["a", "c"], &stored)
            .and([("a", list(&["x"])), ("c", list(&["x"]))]);
        assert_eq!(
            (names.client_name(0, "x"), names.client_name(1, "x")),
            (Some("a_x"), Some("x"))
        );
    }

    #[test]
    fn the_first_server_keeps_its_name() {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let names = ToolNames::assign([
            ("files", list(&["read", "write", "read"])),
            ("web", list(&["read", "get", "files_read"])),
            ("more", list(&["web_read", "read", "more_web_read"])),
        ]);
        let client_name = |server, name| names.client_name(server, name).unwrap();
        assert_eq!(
            (client_name(0, "read"), client_name(1, "read"), client_name(2, "read")),
            ("read", "web_read", "more_read")
        );
        assert_eq!((client_name(1, "get"), client_name(2, "web_read")), ("get", "more_web_read"));
        assert_eq!(client_name(2, "more_web_read"), "more_more_web_read");
        assert_eq!(names.server_tool("web_read"), Some((1, "read")));
        assert_eq!(names.server_tool("nothing"), None);
        assert_eq!(names.client_name(7, "read"), None);
        // The first owner keeps a name when an earlier server later claims it.
        let names = ToolNames::assign([("a", list(&[])), ("b", list(&["x"]))]);
        let names = names.and([("a", list(&["x"])), ("b", list(&["x"]))]);
        assert_eq!(
            (names.client_name(0, "x"), names.client_name(1, "x")),
            (Some("a_x"), Some("x"))
        );
    }
}
