//! Reads `console`: the served files, the limits on live events, and the webhook for decisions.

use serde_json::{Map, Value};

use super::reader::ConfigReader;
use super::setting::{PATH, Setting, SettingKind, URL, mapping};

/// The settings of the console. Relative paths start at the folder of the configuration file.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct ConsoleConfig {
    /// The folder from which the files that replies refer to are served.
    pub files: Option<String>,
    /// The URL to which decisions are posted.
    pub webhook: Option<String>,
    /// The limits on live events and their readers.
    pub events: EventsConfig,
}

/// The limits on live events and their readers. An event beyond either of the first two limits is deleted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct EventsConfig {
    /// The number of days for which an event is stored.
    pub keep_days: u32,
    /// The largest number of stored events.
    pub keep_count: u32,
    /// The largest number of event streams that one token may have open.
    pub readers: u32,
}

impl Default for EventsConfig {
    fn default() -> Self {
        Self { keep_days: 30, keep_count: 1_000_000, readers: 64 }
    }
}

static EVENTS: [Setting<EventsConfig>; 1] = [Setting {
    group: None,
    name: "readers",
    about: "How many streams of events one token may have open.",
    kind: SettingKind::Integer {
        least: 1,
        most: 100_000,
        set: |events, readers| events.readers = readers,
        get: |events| events.readers,
    },
}];

/// The settings under `console.events.keep`.
static KEEP: [Setting<EventsConfig>; 2] = [
    Setting {
        group: None,
        name: "days",
        about: "How many days a live event is kept.",
        kind: SettingKind::Integer {
            least: 1,
            most: 36_500,
            set: |events, days| events.keep_days = days,
            get: |events| events.keep_days,
        },
    },
    Setting {
        group: None,
        name: "count",
        about: "How many live events are kept at most.",
        kind: SettingKind::Integer {
            least: 1,
            most: u32::MAX,
            set: |events, count| events.keep_count = count,
            get: |events| events.keep_count,
        },
    },
];

static SETTINGS: [Setting<ConsoleConfig>; 2] = [
    Setting {
        group: None,
        name: "files",
        about: "The folder below which files that replies refer to are served.",
        kind: SettingKind::Text { form: &PATH, set: |console, text| console.files = Some(text) },
    },
    Setting {
        group: None,
        name: "webhook",
        about: "Where every decision is posted to, as JSON.",
        kind: SettingKind::Text { form: &URL, set: |console, text| console.webhook = Some(text) },
    },
];

impl ConsoleConfig {
    pub(super) fn read(reading: &mut ConfigReader<'_>, members: &Map<String, Value>) -> Self {
        let mut console = Self::default();
        for (name, value) in members {
            if name == "events" {
                console.events = EventsConfig::read(reading, value);
            } else {
                reading.take("console", name, value, &SETTINGS, &["events"], &mut console);
            }
        }
        console
    }
}

impl EventsConfig {
    fn read(reading: &mut ConfigReader<'_>, value: &Value) -> Self {
        let mut events = Self::default();
        for (name, value) in reading.mapping("console.events", value).into_iter().flatten() {
            if name != "keep" {
                reading.take("console.events", name, value, &EVENTS, &["keep"], &mut events);
                continue;
            }
            for (name, value) in reading.mapping("console.events.keep", value).into_iter().flatten()
            {
                reading.take("console.events.keep", name, value, &KEEP, &[], &mut events);
            }
        }
        events
    }
}

/// Returns the JSON Schema of `console`.
pub(super) fn schema() -> Value {
    let mut events = properties(&EVENTS);
    events.insert("keep".to_owned(), mapping(properties(&KEEP)));
    let mut members = properties(&SETTINGS);
    members.insert("events".to_owned(), mapping(events));
    mapping(members)
}

fn properties<T: Default>(settings: &[Setting<T>]) -> Map<String, Value> {
    settings.iter().map(|setting| (setting.name.to_owned(), setting.schema())).collect()
}
