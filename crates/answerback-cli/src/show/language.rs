//! Defines the comments, quotes and keywords of languages for the highlighter.

/// The lexical rules of a language.
#[derive(Debug)]
pub(crate) struct Language {
    names: &'static [&'static str],
    pub(crate) line_comments: &'static [&'static str],
    pub(crate) block_comment: Option<(&'static str, &'static str)>,
    /// Quotes that end on their line. `long_quotes` may span lines.
    pub(crate) quotes: &'static [&'static str],
    pub(crate) long_quotes: &'static [&'static str],
    keywords: &'static str,
    ignores_case: bool,
}

impl Language {
    /// Finds a language by its name in a Markdown code fence.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        let name = name.get(..name.len().min(24))?.trim().to_ascii_lowercase();
        LANGUAGES.iter().find(|language| language.names.contains(&name.as_str()))
    }

    pub(crate) fn is_keyword(&self, word: &str) -> bool {
        self.keywords.split(' ').any(|keyword| {
            if self.ignores_case { keyword.eq_ignore_ascii_case(word) } else { keyword == word }
        })
    }

    /// True if the first character of a line determines its style.
    pub(crate) fn is_diff(&self) -> bool {
        self.names.contains(&"diff")
    }
}

const C_LIKE: Language = Language {
    names: &[],
    line_comments: &["//"],
    block_comment: Some(("/*", "*/")),
    quotes: &["\"", "'"],
    long_quotes: &[],
    keywords: "",
    ignores_case: false,
};

const HASH: Language = Language {
    names: &[],
    line_comments: &["#"],
    block_comment: None,
    quotes: &["\"", "'"],
    long_quotes: &[],
    keywords: "",
    ignores_case: false,
};

const LANGUAGES: [Language; 16] = [
    Language {
        names: &["rust", "rs"],
        // In Rust a single quote may begin a lifetime, so only double quotes count.
        quotes: &["\""],
        keywords: "as async await break const continue crate dyn else enum extern false fn for if \
                   impl in let loop match mod move mut pub ref return self Self static struct super \
                   trait true type unsafe use where while",
        ..C_LIKE
    },
    Language {
        names: &["python", "py", "python3"],
        long_quotes: &["\"\"\"", "'''"],
        keywords: "and as assert async await break case class continue def del elif else except \
                   False finally for from global if import in is lambda match None nonlocal not or \
                   pass raise return self True try while with yield",
        ..HASH
    },
    Language {
        names: &["javascript", "js", "jsx", "typescript", "ts", "tsx", "mjs"],
        long_quotes: &["`"],
        keywords: "abstract any as async await boolean break case catch class const continue \
                   declare default delete do else enum export extends false finally for from \
                   function if implements import in instanceof interface let new null number of \
                   private protected public readonly return static string super switch this throw \
                   true try type typeof undefined var void while yield",
        ..C_LIKE
    },
    Language {
        names: &["go", "golang"],
        long_quotes: &["`"],
        keywords: "break case chan const continue default defer else fallthrough false for func go \
                   goto if import interface map nil package range return select struct switch true \
                   type var",
        ..C_LIKE
    },
    Language {
        names: &[
            "c", "h", "cpp", "c++", "cc", "hpp", "java", "csharp", "cs", "c#", "kotlin", "kt",
            "swift", "scala", "php", "dart",
        ],
        keywords: "abstract auto bool boolean break byte case catch char class const constexpr \
                   continue default defer delete do double else enum extends extern false final \
                   finally float for foreach fun func function guard if implements import in \
                   include int interface internal is let long namespace new nil null nullptr \
                   object override package private protected public return short signed sizeof \
                   static string struct super switch template this throw throws true try typedef \
                   typename union unsigned using val var virtual void volatile when while",
        ..C_LIKE
    },
    Language {
        names: &["sh", "bash", "shell", "zsh", "console", "shellscript"],
        keywords: "case cd do done echo elif else esac exit export fi for function if in local \
                   read return select set shift source test then trap unset until while",
        ..HASH
    },
    Language {
        names: &["powershell", "ps1", "pwsh"],
        block_comment: Some(("<#", "#>")),
        keywords: "begin break catch class continue do else elseif end exit finally for foreach \
                   function if in param process return switch throw trap try until using while",
        ignores_case: true,
        ..HASH
    },
    Language {
        names: &["ruby", "rb"],
        keywords: "alias and begin break case class def do else elsif end ensure false for if in \
                   module next nil not or raise redo rescue retry return self super then true \
                   undef unless until when while yield",
        ..HASH
    },
    Language {
        names: &["sql", "postgresql", "postgres", "mysql", "sqlite"],
        line_comments: &["--"],
        quotes: &["'", "\""],
        keywords: "add all alter and as asc between by case cast create cross default delete desc \
                   distinct drop else end exists explain false foreign from full group having if in \
                   index inner insert into is join key left like limit not null offset on or order \
                   outer over partition primary references returning right select set table then \
                   true union unique update using values view when where with",
        ignores_case: true,
        ..C_LIKE
    },
    Language {
        names: &["json", "json5", "jsonc", "ndjson"],
        keywords: "true false null",
        ..C_LIKE
    },
    Language { names: &["yaml", "yml"], keywords: "true false null yes no on off", ..HASH },
    Language {
        names: &["toml", "ini", "conf", "cfg", "properties", "dotenv", "env"],
        line_comments: &["#", ";"],
        long_quotes: &["\"\"\"", "'''"],
        keywords: "true false",
        ..HASH
    },
    Language {
        names: &["dockerfile", "docker", "makefile", "make", "cmake"],
        keywords: "ADD ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL RUN SHELL USER \
                   VOLUME WORKDIR else endif export ifdef ifeq include",
        ..HASH
    },
    Language {
        names: &["html", "xml", "svg", "vue", "svelte"],
        line_comments: &[],
        block_comment: Some(("<!--", "-->")),
        ..C_LIKE
    },
    Language { names: &["css", "scss", "less"], line_comments: &[], ..C_LIKE },
    Language {
        names: &["diff", "patch"],
        line_comments: &[],
        block_comment: None,
        quotes: &[],
        ..C_LIKE
    },
];
