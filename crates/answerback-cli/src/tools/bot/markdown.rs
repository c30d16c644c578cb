//! Extracts a few parts of a Markdown text: title, first paragraph, and sections with their check boxes.

/// The longest first paragraph, in characters.
const LONGEST_SUMMARY: usize = 500;
/// The largest number of sections.
const MOST_SECTIONS: usize = 50;

/// The extracted parts of a Markdown text, without its front matter.
#[derive(Debug, Default, Eq, PartialEq)]
pub(crate) struct Markdown {
    /// The first heading of level 1.
    pub(crate) title: Option<String>,
    /// The first paragraph.
    pub(crate) summary: Option<String>,
    /// The headings of level 2.
    pub(crate) sections: Vec<MarkdownSection>,
}

/// A section and the counts of its check boxes.
#[derive(Debug, Default, Eq, PartialEq)]
pub(crate) struct MarkdownSection {
    pub(crate) heading: String,
    pub(crate) boxes: usize,
    pub(crate) ticked: usize,
}

impl Markdown {
    pub(crate) fn read(text: &str) -> Self {
        let mut read = Self::default();
        let mut fenced = false;
        let mut paragraph = String::new();
        for line in text.lines().map(str::trim) {
            if line.starts_with("```") || line.starts_with("~~~") {
                fenced = !fenced;
                continue;
            }
            if fenced {
                continue;
            }
            let is_text = !line.is_empty() && !line.starts_with(['#', '-', '*', '|', '>', '<']);
            if is_text && read.summary.is_none() {
                paragraph.push_str(if paragraph.is_empty() { "" } else { " " });
                paragraph.push_str(line);
            } else if !paragraph.is_empty() && read.summary.is_none() {
                read.summary = Some(clipped(&paragraph, LONGEST_SUMMARY));
            }
            read.line(line);
        }
        if !paragraph.is_empty() && read.summary.is_none() {
            read.summary = Some(clipped(&paragraph, LONGEST_SUMMARY));
        }
        read
    }

    fn line(&mut self, line: &str) {
        if let Some(title) = line.strip_prefix("# ") {
            self.title.get_or_insert_with(|| clipped(title.trim(), LONGEST_SUMMARY));
        } else if let Some(heading) = line.strip_prefix("## ") {
            if self.sections.len() < MOST_SECTIONS {
                let heading = clipped(heading.trim(), LONGEST_SUMMARY);
                self.sections.push(MarkdownSection { heading, ..MarkdownSection::default() });
            }
        } else if let Some(section) = self.sections.last_mut()
            && let Some(item) = line.strip_prefix("- [").or_else(|| line.strip_prefix("* ["))
        {
            let is_ticked = item.starts_with("x]") || item.starts_with("X]");
            section.boxes += usize::from(is_ticked || item.starts_with(" ]"));
            section.ticked += usize::from(is_ticked);
        }
    }
}

fn clipped(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_title_paragraph_and_boxes() {
        let text = "# Harbour\n\n```\n# not a title\n```\nBerths, booked\nwithout a call.\n\n## Phase 1\n\
                    - [x] done\n- [ ] open\n* [X] done too\n- [?] neither\n## Phase 2\nmore\n";
        let read = Markdown::read(text);
        assert_eq!(read.title.as_deref(), Some("Harbour"));
        assert_eq!(read.summary.as_deref(), Some("Berths, booked without a call."));
        let sections: Vec<_> = read
            .sections
            .iter()
            .map(|section| (section.heading.as_str(), section.boxes, section.ticked))
            .collect();
        assert_eq!(sections, [("Phase 1", 3, 2), ("Phase 2", 0, 0)]);
        assert_eq!(Markdown::read(""), Markdown::default());
        assert_eq!(Markdown::read(&"é".repeat(600)).summary.unwrap().chars().count(), 501);
    }
}
