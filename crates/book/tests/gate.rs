//! One planted fault for each rule: it must be found as exactly what it is, and nothing else with it.

mod sample;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use book::{Kind, Limits, Proof, Settings, Source, Workspace, judge, prove};
use sample::{Found, Sample};

/// The rule, the id, the file and the line of a failure that must be found.
type Row = (Kind, &'static str, &'static str, usize);

/// A fault: the file, what stands there, what shall stand there instead, and every failure that it must cause.
struct Fault {
    file: &'static str,
    from: &'static str,
    to: &'static str,
    found: &'static [Row],
}

const INDEX: &str = "src/index.md";
const ADDS: &str = "src/recipes/adds.md";
const NOTES: &str = "src/notes.md";
const ERRORS: &str = "src/errors.md";

/// Adds a paragraph at the end of the notes, which state nothing: its line is 5.
const fn note(to: &'static str, found: &'static [Row]) -> Fault {
    Fault {
        file: NOTES,
        from: "",
        to,
        found,
    }
}

/// Faults on pages.
const ON_PAGES: &[Fault] = &[
    Fault {
        file: INDEX,
        from: "Read [how]",
        to: "[Nobody says so.]{claim=adds.invented} Read [how]",
        found: &[(Kind::ClaimWithoutAssertion, "adds.invented", INDEX, 5)],
    },
    Fault {
        file: INDEX,
        from: "{claim=adds.exact}",
        to: "",
        found: &[(
            Kind::AssertionWithoutClaim,
            "adds.exact",
            "listings/adds/main.rs",
            15,
        )],
    },
    Fault {
        file: INDEX,
        from: "not 4.]",
        to: "not 5.]",
        found: &[(Kind::SentenceDiffers, "adds.exact", INDEX, 5)],
    },
    Fault {
        file: INDEX,
        from: "sum | {{fact adds.sum = 3}}",
        to: "sum | {{fact adds.sum = 4}}",
        found: &[(Kind::FactDiffers, "adds.sum", INDEX, 9)],
    },
    Fault {
        file: INDEX,
        from: "sum | {{fact adds.sum = 3}}",
        to: "sum | {{fact adds.total = 3}}",
        found: &[(Kind::FactUnknown, "adds.total", INDEX, 9)],
    },
    Fault {
        file: INDEX,
        from: "[notes]",
        to: "an id without a sentence{claim=adds.none} [notes]",
        found: &[(Kind::ClaimMalformed, "{claim=adds.none}", INDEX, 5)],
    },
    Fault {
        file: INDEX,
        from: "[notes]",
        to: "[a sentence]{claim=Not an id} [notes]",
        found: &[(Kind::ClaimMalformed, "{claim=Not an id}", INDEX, 5)],
    },
    Fault {
        file: INDEX,
        from: "[The sum",
        to: "[Outside [The sum",
        // The outer brackets close nowhere: that is no claim, and the inner one is as it was.
        found: &[],
    },
    Fault {
        file: INDEX,
        from: "{claim=adds.exact}",
        to: "{claim=adds.exact} and more]{claim=adds.ours}",
        found: &[(Kind::ClaimMalformed, "{claim=adds.ours}", INDEX, 5)],
    },
    Fault {
        file: ADDS,
        from: "{{output adds}}",
        to: "{{output adder}}",
        found: &[(Kind::ListingUnknown, "adder", ADDS, 14)],
    },
    Fault {
        file: ADDS,
        from: "main.rs:sum",
        to: "mian.rs:sum",
        found: &[(
            Kind::IncludeMissing,
            "../../listings/adds/mian.rs:sum",
            ADDS,
            8,
        )],
    },
    Fault {
        file: ADDS,
        from: "main.rs:sum",
        to: "main.rs:summ",
        found: &[(
            Kind::AnchorMissing,
            "../../listings/adds/main.rs:summ",
            ADDS,
            8,
        )],
    },
    Fault {
        file: ADDS,
        from: "main.rs:sum",
        to: "main.rs:8:8",
        found: &[(Kind::LineRange, "../../listings/adds/main.rs:8:8", ADDS, 8)],
    },
    Fault {
        file: ADDS,
        from: "main.rs:sum",
        to: "main.rs",
        found: &[(Kind::AnchorsShown, "../../listings/adds/main.rs", ADDS, 8)],
    },
    Fault {
        file: ADDS,
        from: "main.rs:sum",
        to: "empty.rs",
        found: &[(Kind::AnchorEmpty, "../../listings/adds/empty.rs", ADDS, 8)],
    },
    Fault {
        file: ADDS,
        from: "## The sum",
        to: "## A sum",
        found: &[(Kind::FragmentBroken, "recipes/adds.md#the-sum", INDEX, 5)],
    },
    Fault {
        file: ADDS,
        from: "<!-- only to show a block that is not compiled -->\n",
        to: "\n",
        found: &[(Kind::IgnoreWithoutReason, "ignore", ADDS, 21)],
    },
    Fault {
        file: ADDS,
        from: "rust,ignore",
        to: "rust,compile_fail",
        found: &[(Kind::CompileFailFence, "compile_fail", ADDS, 21)],
    },
    Fault {
        file: ADDS,
        from: "> [!NOTE]",
        to: "> [!HINT]",
        found: &[(Kind::AdmonitionMalformed, "admonition", ADDS, 25)],
    },
    Fault {
        file: ADDS,
        from: "{{strip}}\n",
        to: "\n",
        found: &[(Kind::StripMissing, "strip", ADDS, 1)],
    },
    Fault {
        file: NOTES,
        from: "Nothing is stated here.",
        to: "[Our adder never overflows.]{claim=adds.ours}",
        found: &[(Kind::StripMissing, "strip", NOTES, 1)],
    },
    Fault {
        file: ADDS,
        from: "{{strip}}\n",
        to: "{{strip}}\n\n{{strip}}\n",
        found: &[(Kind::DirectiveMisplaced, "strip", ADDS, 5)],
    },
    Fault {
        file: ADDS,
        from: "{{output adds}}",
        to: "See {{output adds}}",
        found: &[(Kind::DirectiveMisplaced, "adds", ADDS, 14)],
    },
    Fault {
        file: ADDS,
        from: "Go [home](../index.md).",
        to: "{{output adds}}",
        found: &[(Kind::DirectiveMisplaced, "adds", ADDS, 26)],
    },
    Fault {
        file: ADDS,
        from: "## The sum",
        to: "## The sum\n\n### {{fact adds.sum = 3}}",
        found: &[(Kind::DirectiveMisplaced, "adds.sum", ADDS, 7)],
    },
    Fault {
        file: INDEX,
        from: "# A sample",
        to: "# [The sum of `1` and `2` is 3, not 4.]{claim=adds.exact}",
        found: &[(Kind::DirectiveMisplaced, "adds.exact", INDEX, 1)],
    },
    Fault {
        file: ERRORS,
        from: "```text",
        to: "It is {{fact adds.bytes = 768}}.\n\n```text",
        found: &[(Kind::StandInInErrorIndex, "adds.bytes", ERRORS, 5)],
    },
    Fault {
        file: ERRORS,
        from: "```text",
        to: "[Our adder never overflows.]{claim=adds.ours}\n\n```text",
        found: &[(Kind::StandInInErrorIndex, "adds.ours", ERRORS, 5)],
    },
    Fault {
        file: ERRORS,
        from: "```text",
        to: "{{output adds}}\n\n```text",
        found: &[(Kind::StandInInErrorIndex, "adds", ERRORS, 5)],
    },
    Fault {
        file: ERRORS,
        from: "{{fact adds.log = the sum was *three*, as in | 1 + 2 |}}",
        to: "sum: 3",
        found: &[(Kind::TypedCode, "text", ERRORS, 5)],
    },
    note(
        "\n```python\nx = 1\n```\n",
        &[(Kind::TypedCode, "python", NOTES, 5)],
    ),
    note(
        "\n```console\n```\n",
        &[(Kind::TypedCode, "console", NOTES, 5)],
    ),
    note(
        "\n<pre>sum: 3</pre>\n",
        &[(Kind::TypedCode, "html", NOTES, 5)],
    ),
    note(
        "\n```\nx\n```\n",
        &[(Kind::FenceWithoutLanguage, "", NOTES, 5)],
    ),
    note(
        "\n    indented\n",
        &[(Kind::FenceWithoutLanguage, "", NOTES, 5)],
    ),
    note(
        "\nSee [there](recipes/sums.md).\n",
        &[(Kind::LinkBroken, "recipes/sums.md", NOTES, 5)],
    ),
    note(
        "\nSee [there](/notes.md).\n",
        &[(Kind::LinkBroken, "/notes.md", NOTES, 5)],
    ),
    note(
        "\nSee [there](recipes/adds.html).\n",
        &[(Kind::LinkBroken, "recipes/adds.html", NOTES, 5)],
    ),
    note(
        "\n![a drawing](drawing.svg)\n",
        &[(Kind::LinkBroken, "drawing.svg", NOTES, 5)],
    ),
    note(
        "\nSee <a href=\"index.md#none\">there</a>.\n",
        &[(Kind::FragmentBroken, "index.md#none", NOTES, 5)],
    ),
    note(
        "\n{{include file}}\n",
        &[(Kind::UnknownDirective, "include", NOTES, 5)],
    ),
    note(
        "\n{{#playground x.rs}}\n",
        &[(Kind::UnknownDirective, "#playground", NOTES, 5)],
    ),
    note(
        "\n{{#include x.md}}\n",
        &[
            (Kind::IncludeMissing, "x.md", NOTES, 5),
            (Kind::DirectiveMisplaced, "x.md", NOTES, 5),
        ],
    ),
    note(
        "\n{{version nothing}}\n",
        &[(Kind::DirectiveMalformed, "version", NOTES, 5)],
    ),
    note(
        "\n{{drift}}\n",
        &[(Kind::DirectiveMalformed, "drift", NOTES, 5)],
    ),
    note(
        "\n{{table adds.sum}}\n",
        &[(Kind::DirectiveMalformed, "table", NOTES, 5)],
    ),
    note(
        "\n{{table adds.sum: No table at all.}}\n",
        &[
            (Kind::FactUnknown, "adds.sum", NOTES, 5),
            (Kind::StripMissing, "strip", NOTES, 1),
        ],
    ),
    note(
        "\n{{table adds.none: Nothing of the kind.}}\n",
        &[
            (Kind::FactUnknown, "adds.none", NOTES, 5),
            (Kind::StripMissing, "strip", NOTES, 1),
        ],
    ),
    note(
        "\nSee {{table adds.rows: What it added.}}\n",
        &[
            (Kind::DirectiveMisplaced, "adds.rows", NOTES, 5),
            (Kind::StripMissing, "strip", NOTES, 1),
        ],
    ),
    note(
        "\n{{fact adds.sum}}\n",
        &[(Kind::DirectiveMalformed, "fact", NOTES, 5)],
    ),
    note(
        "\nIt plans 768 bytes.\n",
        &[(Kind::UnclaimedNumber, "768 bytes", NOTES, 5)],
    ),
    note(
        "\nIt takes **5** ms.\n",
        &[(Kind::UnclaimedNumber, "5 ms", NOTES, 5)],
    ),
    note(
        "\nIt takes 1.5&nbsp;GiB\n",
        &[(Kind::UnclaimedNumber, "1.5\u{a0}GiB", NOTES, 5)],
    ),
    note(
        "\n- Half is 50%.\n",
        &[(Kind::UnclaimedNumber, "50%", NOTES, 5)],
    ),
    note(
        "\n| a |\n|---|\n| `256 B` |\n",
        &[(Kind::UnclaimedNumber, "256 B", NOTES, 7)],
    ),
    note(
        "\nIt makes three copies.\n",
        &[(Kind::UnclaimedNumber, "three copies", NOTES, 5)],
    ),
    note(
        "\n<p>It makes 3 copies.</p>\n",
        &[(Kind::UnclaimedNumber, "3 copies", NOTES, 5)],
    ),
    note(
        "\n> [!NOTE]\n> It plans 768 bytes.\n",
        &[(Kind::UnclaimedNumber, "768 bytes", NOTES, 6)],
    ),
    note(
        "\nThe code is `0x10`.\n",
        &[(Kind::UnclaimedCode, "0x10", NOTES, 5)],
    ),
    note(
        "\nIt says \"there is no buffer\".\n",
        &[(Kind::UnclaimedMessage, "there is no buffer", NOTES, 5)],
    ),
    note(
        "\nIt says `Output is memory planned already`.\n",
        &[(
            Kind::UnclaimedMessage,
            "Output is memory planned already",
            NOTES,
            5,
        )],
    ),
    note(
        "\nSo the sum was \\*three\\*, as in | 1 + 2 |.\n",
        &[(
            Kind::UnclaimedMessage,
            "the sum was *three*, as in | 1 + 2 |",
            NOTES,
            5,
        )],
    ),
    note(
        "\nIt needs 1.5.1.\n",
        &[(Kind::TypedVersion, "1.5.1", NOTES, 5)],
    ),
    note(
        "\nIt needs ExecuTorch 1.5 or later.\n",
        &[(Kind::TypedVersion, "ExecuTorch 1.5", NOTES, 5)],
    ),
];

/// What looks like a fault and is none.
const NO_FAULTS: &[&str] = &[
    "\nA model of 31B parameters, 8×8 float32, an 8-bit weight, step 2, Python 3.11.\n",
    "\nThe flag `--limit=5s` and `alloc_graph_input=False`; \"host memory\".\n",
    "\nSee [the docs](https://example.org/v1.5.1/768-bytes) and <https://example.org/1.5.1>.\n",
    "\nHere `[true, true]` and `a]{claim=x.y}` are code, and \\[this\\] is text.\n",
    "\n```rust\nlet bytes = 768; // 0x10, \"a quoted message here\"\n```\n",
    "\n<!-- 768 bytes, 0x10 -->\n",
    "\n```python\n{{#include ../listings/adds/whole.py}}\n```\n",
    "\nSee [there](index.md#claim-adds.exact), [here](#notes) and [it](recipes/adds.md#listing-adds), [x](recipes/adds.md#gpu-2).\n",
    "\n> [!TIP]\n> An admonition with `code`.\n",
];

/// The sample's pages, what its listings showed, and a folder with its files for the includes.
struct Pages {
    folder: tempfile::TempDir,
    sources: Vec<Source>,
    proof: Proof,
    settings: Settings,
}

static PAGES: LazyLock<Pages> = LazyLock::new(|| {
    let sample = Sample::new();
    let (proof, failures) =
        prove(&sample.workspace(), Limits::from_environment().unwrap()).unwrap();
    assert_eq!(failures, []);
    let folder = tempfile::tempdir().unwrap();
    for part in ["src", "listings"] {
        sample::copy(&sample.root.join(part), &folder.path().join(part));
    }
    fs::write(folder.path().join("listings/adds/empty.rs"), "\n").unwrap();
    fs::write(folder.path().join("listings/adds/whole.py"), "x = 1\n").unwrap();
    let paths = [
        "index.md",
        "recipes/adds.md",
        "recipes/copies.md",
        "recipes/dies.md",
        "errors.md",
        "notes.md",
    ];
    let sources = paths
        .map(|path| Source {
            path: path.to_owned(),
            file: format!("src/{path}"),
            text: sample.read(&format!("src/{path}")),
        })
        .to_vec();
    let settings = Settings {
        without_strip: vec!["notes.md".into()],
        error_index: "errors.md".into(),
        ..Settings::default()
    };
    Pages {
        folder,
        sources,
        proof,
        settings,
    }
});

/// The failures of the sample's pages with `from` replaced by `to` in `file`.
fn judged(file: &str, from: &str, to: &str) -> Vec<Found> {
    let pages = &*PAGES;
    let workspace = Workspace::at(pages.folder.path()).unwrap();
    let mut sources = pages.sources.clone();
    let source = sources
        .iter_mut()
        .find(|source| source.file == file)
        .unwrap();
    assert!(source.text.contains(from), "{file} has no {from:?}");
    if from.is_empty() {
        source.text.push_str(to);
    } else {
        source.text = source.text.replacen(from, to, 1);
    }
    let judgement = judge(
        &workspace,
        Path::new("src"),
        &pages.settings,
        sources,
        &pages.proof,
    );
    assert_eq!(
        judgement.pages.is_empty(),
        !judgement.failures.is_empty(),
        "a page is written or a rule is broken"
    );
    let mut found: Vec<Found> = judgement
        .failures
        .into_iter()
        .map(|failure| (failure.kind, failure.id, failure.file, failure.line))
        .collect();
    found.sort();
    found
}

#[test]
fn faults_on_pages_are_found_for_what_they_are() {
    assert_eq!(judged(INDEX, "# A sample", "# A sample"), []);
    for fault in ON_PAGES {
        let found = judged(fault.file, fault.from, fault.to);
        assert_eq!(
            found,
            sample::sorted(fault.found),
            "{:?} → {:?}",
            fault.from,
            fault.to
        );
    }
}

#[test]
fn a_page_shows_what_the_runs_showed() {
    let sample = Sample::new();
    let (output, found) = sample.build();
    assert_eq!(found, [], "{}", sample::text(&output));
    let (output, found) = sample.guide_book(&["check", "book"]);
    assert_eq!(found, [], "{}", sample::text(&output));
    for (page, shown) in [
        // A claim is a sentence with a link to itself and one to the listing that proved it, wherever that is shown.
        (
            "index",
            "<span class=\"claim\" id=\"claim-adds.exact\">The sum of <code>1</code> and <code>2</code> is \
             <span class=\"fact\">3</span>, not 4.</span><a class=\"claim-link\" href=\"#claim-adds.exact\"",
        ),
        (
            "index",
            "href=\"recipes/adds.html#listing-adds\" data-origin=\"runtime\"",
        ),
        (
            "recipes/adds",
            "href=\"#listing-adds\" data-origin=\"stand-in\" aria-label=\"Shown with our stand-in",
        ),
        // On a second place it has no second id.
        (
            "recipes/copies",
            "<li>\n<p><span class=\"claim\">A call makes 2 copies.</span>",
        ),
        // A value is shown as it is, in prose, in a table and in a block.
        (
            "index",
            "<td><span class=\"fact\">the sum was *three*, as in | 1 + 2 |</span></td>",
        ),
        (
            "errors",
            "<pre><code class=\"language-text\">the sum was *three*, as in | 1 + 2 |\n</code></pre>",
        ),
        // The strip counts what is proved, names what rests on the stand-in, and lists what only a GPU shows.
        (
            "recipes/adds",
            "<strong>Proved in this build</strong> (ExecuTorch ",
        ),
        ("recipes/adds", "unversioned sources): 1 claim or fact</li>"),
        ("index", "unversioned sources): 3 claims and facts</li>"),
        (
            "recipes/adds",
            "stand-in</strong>: <a href=\"#claim-adds.ours\">Our adder never overflows.</a> · \
             <a href=\"#fact-adds.bytes\"><code>768</code></a> · <a href=\"#fact-adds.rows\">What it added.</a></li>",
        ),
        (
            "recipes/adds",
            "<a href=\"#gpu-2\">It adds <code>fast</code>.</a> (not verified on a GPU)</li>",
        ),
        (
            "recipes/adds",
            "<span id=\"fact-adds.bytes\"></span><code>768</code>",
        ),
        // A quoted text is not proved, and says where it stands: in a sentence, in code and under a block.
        ("errors", "unversioned sources): 1 claim or fact</li>"),
        (
            "errors",
            "shows</strong>: <a href=\"#fact-adds.cuda\"><code>no adder on this device</code></a> (quoted, not run here)</li>",
        ),
        (
            "errors",
            "<p class=\"provenance\" id=\"fact-adds.cuda\">Quoted from <code>cuda/adder.cpp</code> at <code>0123456789ab</code>, not run here</p>",
        ),
        (
            "errors",
            "<span class=\"fact\">no adder on this device</span> <small class=\"quoted\">(quoted from <code>cuda/adder.cpp</code>",
        ),
        (
            "errors",
            "<code>no adder on this device</code> <small class=\"quoted\">(quoted from",
        ),
        // An excerpt begins at the margin, or where its list does, and names its file.
        (
            "recipes/adds",
            "<pre><code class=\"language-rust\">let sum = 1 + 2;</code></pre>",
        ),
        (
            "recipes/adds",
            "<p class=\"listing-file\"><code>listings/adds/main.rs</code></p>",
        ),
        (
            "recipes/copies",
            "<code class=\"language-rust\">if true {\n    println!(\"copies: 2\");\n}</code></pre>\n<p class",
        ),
        // An output is what was printed, whatever it looks like.
        (
            "recipes/copies",
            "copies: 2\n```\n{{#include nothing.rs}}\n</code></pre>",
        ),
        (
            "recipes/dies",
            "It ended with signal SIGABRT, as it must.</p>",
        ),
        // The command is what the reader types where the listing declares it, and what runs here stands below.
        ("recipes/dies", "$ dies --now\nabout to abort"),
        ("recipes/dies", "<code>cargo run --bin dies</code> with"),
        (
            "notes",
            "Write <code>{{fact listing.name = value}}</code> and <code>{{#include file:anchor}}</code>.",
        ),
        ("recipes/adds", "<td><code>1|2</code></td><td>3</td>"),
        (
            "recipes/adds",
            "<blockquote class=\"blockquote-tag blockquote-tag-note\">",
        ),
    ] {
        let html = sample.read(&format!("book/{page}.html"));
        assert!(html.contains(shown), "no {shown:?} in {page}:\n{html}");
    }
}

#[test]
fn what_is_no_fault_is_left_alone() {
    for text in NO_FAULTS {
        assert_eq!(judged(NOTES, "", text), [], "{text}");
    }
}

/// Faults in listings, settings and files, each through mdBook itself.
const IN_THE_BUILD: &[Fault] = &[
    Fault {
        file: "listings/adds/main.rs",
        from: "sum == 3",
        to: "sum == 4",
        found: &[(Kind::ClaimFails, "adds.exact", "listings/adds/main.rs", 15)],
    },
    Fault {
        file: "listings/adds/main.rs",
        from: "    claim(StandIn",
        to: "    claim(Runtime, \"adds.more\", \"It says more.\", true);\n    claim(StandIn",
        found: &[(
            Kind::AssertionWithoutClaim,
            "adds.more",
            "listings/adds/main.rs",
            16,
        )],
    },
    Fault {
        file: "listings/adds/main.rs",
        from: "    claim(StandIn",
        to: "    fact(Runtime, \"adds.more\", sum);\n    claim(StandIn",
        found: &[(Kind::FactUnstated, "adds.more", "listings/adds/main.rs", 16)],
    },
    Fault {
        file: "listings/adds/main.rs",
        from: "\"adds.bytes\"",
        to: "\"added.bytes\"",
        found: &[
            (
                Kind::FactMisnamed,
                "added.bytes",
                "listings/adds/main.rs",
                13,
            ),
            (
                Kind::FactUnstated,
                "added.bytes",
                "listings/adds/main.rs",
                13,
            ),
            (Kind::FactUnknown, "adds.bytes", ADDS, 12),
        ],
    },
    Fault {
        file: "listings/adds/main.rs",
        from: "1 + 2;",
        to: "1 + \"2\";",
        found: &[(
            Kind::ListingsDoNotCompile,
            "listings",
            "listings/adds/main.rs",
            8,
        )],
    },
    Fault {
        file: "listings/adds/main.rs",
        from: "sum: {sum}",
        to: "total: {sum}",
        found: &[(Kind::OutputDiffers, "adds", "listings/adds/output.txt", 2)],
    },
    Fault {
        file: "listings/adds/main.rs",
        from: "    println!",
        to: "    std::iter::repeat_n((), 1 << 17).for_each(|()| println!(\"0123456789\"));\n    println!",
        found: &[(Kind::OutputLimit, "adds", "listings/adds/main.rs", 1)],
    },
    Fault {
        file: "listings/adds/main.rs",
        from: "    println!",
        to: "    assert_eq!(sum, 4);\n    println!",
        found: &[(Kind::OutcomeDiffers, "adds", "listings/adds/main.rs", 10)],
    },
    Fault {
        file: "listings/adds/output.txt",
        from: "$ cargo run --bin adds",
        to: "$ cargo run adds",
        found: &[(Kind::OutputDiffers, "adds", "listings/adds/output.txt", 1)],
    },
    Fault {
        file: "listings/dies/main.rs",
        from: "dies --now",
        to: "dies --later",
        found: &[(Kind::OutputDiffers, "dies", "listings/dies/output.txt", 1)],
    },
    Fault {
        file: "listings/dies/output.txt",
        from: "# signal SIGABRT\n",
        to: "",
        found: &[(Kind::OutcomeDiffers, "dies", "listings/dies/main.rs", 1)],
    },
    Fault {
        file: "listings/Cargo.toml",
        from: "[[bin]]\nname = \"copies\"\npath = \"copies/main.rs\"\n",
        to: "",
        found: &[(
            Kind::ListingWithoutBinary,
            "copies",
            "listings/copies/main.rs",
            1,
        )],
    },
    Fault {
        file: "src/recipes/dies.md",
        from: "`{{fact dies.exit = SIGABRT}}`",
        to: "a signal",
        found: &[(
            Kind::ExitUnstated,
            "dies.exit",
            "listings/dies/output.txt",
            3,
        )],
    },
    Fault {
        file: "src/recipes/adds.md",
        from: "{{table adds.rows: What it added.}}",
        to: "",
        found: &[(Kind::FactUnstated, "adds.rows", "listings/adds/main.rs", 18)],
    },
    Fault {
        file: "src/recipes/dies.md",
        from: "{{output dies}}",
        to: "",
        found: &[(Kind::ListingWithoutPage, "dies", "listings/dies/main.rs", 1)],
    },
    Fault {
        file: "src/SUMMARY.md",
        from: "- [Errors](errors.md)\n",
        to: "",
        found: &[
            (Kind::PageUnlisted, "errors.md", ERRORS, 1),
            (Kind::FactUnstated, "adds.cuda", "listings/adds/main.rs", 14),
        ],
    },
    Fault {
        file: "src/SUMMARY.md",
        from: "- [Errors](errors.md)\n",
        to: "- [Errors](errors.md)\n- [To come]()\n",
        found: &[(Kind::PageMissing, "To come", "src/SUMMARY.md", 9)],
    },
    Fault {
        file: "book.toml",
        from: "print.enable",
        to: "print.enabled",
        found: &[(Kind::ConfigKey, "enabled", "book.toml", 16)],
    },
    Fault {
        file: "book.toml",
        from: "playground.runnable = false",
        to: "",
        found: &[(Kind::ConfigValue, "runnable", "book.toml", 1)],
    },
    Fault {
        file: "book.toml",
        from: "[\"notes.md\"]",
        to: "[\"notes.md\", \"gone.md\"]",
        found: &[(Kind::ConfigValue, "gone.md", "book.toml", 11)],
    },
];

/// Faults that consist of a file that is there or is not.
const OF_FILES: &[(&str, Option<&str>, &[Row])] = &[
    (
        "listings/copies/output.txt",
        None,
        &[(
            Kind::ListingWithoutOutput,
            "copies",
            "listings/copies/main.rs",
            1,
        )],
    ),
    (
        "listings/gone/output.txt",
        Some("$ x\n"),
        &[(
            Kind::OutputWithoutListing,
            "gone",
            "listings/gone/output.txt",
            1,
        )],
    ),
    (
        "listings/adds/export.py",
        Some("x = 1\n"),
        &[(Kind::ExportFails, "adds", "listings/adds/export.py", 1)],
    ),
    (
        ".venv",
        None,
        &[(
            Kind::NotSetUp,
            ".venv/executorch/version.py",
            ".venv/executorch/version.py",
            1,
        )],
    ),
];

#[test]
fn faults_in_the_build_are_found_for_what_they_are() {
    let sample = Sample::new();
    let (output, found) = sample.build();
    assert_eq!(found, [], "{}", sample::text(&output));
    assert!(output.status.success());
    for fault in IN_THE_BUILD {
        let before = sample.read(fault.file);
        sample.replace(fault.file, fault.from, fault.to);
        let (output, mut found) = sample.build();
        found.sort();
        assert_eq!(
            found,
            sample::sorted(fault.found),
            "{}",
            sample::text(&output)
        );
        assert!(!output.status.success());
        assert!(
            !sample.root.join("target/guide/run.json").exists(),
            "no record of a run that failed"
        );
        sample.write(fault.file, &before);
    }
    for (file, text, expected) in OF_FILES {
        let path = sample.root.join(file);
        let aside = sample.root.join("aside");
        match text {
            Some(text) => {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, text).unwrap();
            }
            None => fs::rename(&path, &aside).unwrap(),
        }
        let (output, found) = sample.build();
        assert_eq!(found, sample::sorted(expected), "{}", sample::text(&output));
        match text {
            Some(_) => fs::remove_file(&path).unwrap(),
            None => fs::rename(&aside, &path).unwrap(),
        }
    }
    // What was repaired passes again.
    fs::remove_dir(sample.root.join("listings/gone")).unwrap();
    let (output, found) = sample.build();
    assert_eq!(found, [], "{}", sample::text(&output));
}

#[test]
fn faults_of_the_preprocessor_itself_are_found() {
    let sample = Sample::new();
    let crates = sample.root.join("crates");
    let real = fs::canonicalize(&crates).unwrap();
    fs::remove_file(&crates).unwrap();
    sample::copy(&real, &crates);
    let file = "crates/book/src/normalise.rs";
    let before = sample.read(file);
    sample.write(file, &format!("{before}\n"));
    let (output, found) = sample.build();
    assert_eq!(
        found,
        sample::sorted(&[(Kind::StalePreprocessor, "guide-book", "crates/book", 1)])
    );
    assert!(sample::text(&output).contains("cargo xtask setup"));
    sample.write(file, &before);

    // Another mdBook says another version.
    let mut child = Command::new(sample::program())
        .current_dir(&sample.root)
        .env("GUIDE_FAILURES", sample.root.join("failures.jsonl"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let context = serde_json::json!({
        "root": sample.root, "config": {"book": {}}, "renderer": "html", "mdbook_version": "0.4.52"
    });
    let input = serde_json::json!([context, { "items": [] }]);
    serde_json::to_writer(child.stdin.take().unwrap(), &input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(!output.status.success() && output.stdout.is_empty());
    assert_eq!(
        sample.failures(),
        sample::sorted(&[(Kind::MdbookVersion, "mdbook", "book.toml", 1)])
    );

    // It says yes to every renderer, even where nothing else works: mdBook leaves out one that does not.
    fs::remove_file(sample.root.join("book.toml")).unwrap();
    for renderer in ["html", "linkcheck", ""] {
        let (output, _) = sample.guide_book(&["supports", renderer]);
        assert!(output.status.success());
    }
    // The sample lies in the target folder, and so perhaps in the guide's own repository: ask from outside of any.
    let (output, found) = sample.guide_book_in(Path::new("/"), &[], &["check", "book"]);
    assert_eq!(
        found,
        sample::sorted(&[(Kind::NotSetUp, "book.toml", "book.toml", 1)]),
        "{}",
        sample::text(&output)
    );
}

/// Faults in what mdBook built.
const IN_THE_SITE: &[Fault] = &[
    Fault {
        file: "book/recipes/adds.html",
        from: "<!-- guide-run: ",
        to: "<!-- ",
        found: &[(
            Kind::RunIdMissing,
            "recipes/adds.md",
            "book/recipes/adds.html",
            1,
        )],
    },
    Fault {
        file: "book/recipes/adds.html",
        from: "<h2 id=\"the-sum\">",
        to: "<h2>",
        found: &[
            (
                Kind::SiteFragmentBroken,
                "recipes/adds.html#the-sum",
                "book/index.html",
                0,
            ),
            (
                Kind::SiteFragmentBroken,
                "#the-sum",
                "book/recipes/adds.html",
                0,
            ),
        ],
    },
    Fault {
        file: "book/recipes/adds.html",
        from: "<a href=\"../THIRD-PARTY.txt\">",
        to: "<a href=\"../LICENSE-MIT.txt\">",
        found: &[(
            Kind::NoticesMissing,
            "recipes/adds.md",
            "book/recipes/adds.html",
            1,
        )],
    },
    Fault {
        file: "book/notes.html",
        from: "Nothing is stated here.",
        to: "{{output adds}}",
        found: &[
            (Kind::DirectiveLeft, "notes.md", "book/notes.html", 0),
            (Kind::DirectiveLeft, "notes.md", "book/notes.html", 0),
            (Kind::DirectiveLeft, "notes.md", "book/notes.html", 0),
        ],
    },
    Fault {
        file: "book/notes.html",
        from: "Nothing is stated here.",
        to: "<a href=\"gone.html\">gone</a>",
        found: &[(Kind::SiteLinkBroken, "gone.html", "book/notes.html", 0)],
    },
    Fault {
        file: "book/notes.html",
        from: "</head>",
        to: "<script src=\"https://example.org/x.js\"></script></head>",
        found: &[(
            Kind::ThirdPartyRequest,
            "https://example.org/x.js",
            "book/notes.html",
            0,
        )],
    },
    Fault {
        file: "book/notes.html",
        from: "</head>",
        to: "<style>@import \"//example.org/x.css\"</style></head>",
        found: &[(
            Kind::ThirdPartyRequest,
            "@import \"//example.org/x.css",
            "book/notes.html",
            0,
        )],
    },
    Fault {
        file: "THIRD-PARTY.md",
        from: "`mark-*.min.js`",
        to: "a script",
        found: &[(Kind::NoticesMissing, "mark.min.js", "book/mark.min.js", 1)],
    },
    Fault {
        file: "target/guide/run.json",
        from: "{",
        to: "",
        found: &[(
            Kind::RunRecordMissing,
            "run.json",
            "target/guide/run.json",
            1,
        )],
    },
    Fault {
        file: "target/guide/run.json",
        from: "\"path\": \"errors.md\"",
        to: "\"path\": \"mistakes.md\"",
        found: &[
            (Kind::PageUnknown, "errors.html", "book/errors.html", 1),
            (Kind::PageNotBuilt, "mistakes.md", "book/mistakes.html", 1),
        ],
    },
];

#[test]
fn faults_in_the_site_are_found_for_what_they_are() {
    let sample = Sample::new();
    let (output, found) = sample.build();
    assert_eq!(found, [], "{}", sample::text(&output));
    let (output, found) = sample.guide_book(&["check", "book"]);
    assert_eq!(found, [], "{}", sample::text(&output));
    let claims: serde_json::Value = serde_json::from_str(&sample.read("book/claims.json")).unwrap();
    assert_eq!(claims.as_array().unwrap().len(), 4);
    assert_eq!(claims[0]["sentence"], "The sum of `1` and `2` is 3, not 4.");

    for fault in IN_THE_SITE {
        let before = sample.read(fault.file);
        sample.replace(fault.file, fault.from, fault.to);
        let (output, mut found) = sample.guide_book(&["check", "book"]);
        for (index, (_, _, _, line)) in found.iter_mut().enumerate() {
            // mdBook's own template decides on the lines of its pages.
            if fault
                .found
                .get(index)
                .is_some_and(|(_, _, _, line)| *line == 0)
                && *line > 0
            {
                *line = 0;
            }
        }
        found.sort();
        assert_eq!(
            found,
            sample::sorted(fault.found),
            "{}",
            sample::text(&output)
        );
        sample.write(fault.file, &before);
    }

    // The notices come from the repository, and a page links to them.
    assert_eq!(
        sample.read("book/THIRD-PARTY.txt"),
        sample.read("THIRD-PARTY.md")
    );
    for (file, copy) in [
        ("THIRD-PARTY.md", "book/THIRD-PARTY.txt"),
        ("LICENSE-APACHE", "book/LICENSE-APACHE.txt"),
    ] {
        let before = sample.read(file);
        sample.remove(file);
        let (_, found) = sample.guide_book(&["check", "book"]);
        assert_eq!(
            found,
            sample::sorted(&[(Kind::NoticesMissing, file, file, 1)])
        );
        sample.remove(copy);
        sample.write(file, &before);
    }
    // A file that neither the repository nor its notices know.
    sample.write("book/more-0123abcd.js", "");
    let (_, found) = sample.guide_book(&["check", "book"]);
    let unknown = (Kind::NoticesMissing, "more.js", "book/more.js", 1);
    assert_eq!(found, sample::sorted(&[unknown]));
    sample.remove("book/more-0123abcd.js");
    let (_, found) = sample.guide_book(&["check", "book"]);
    assert_eq!(found, []);

    // mdBook without the preprocessor: the record of the last run is there, and no page carries it.
    let config = sample.read("book.toml");
    let (head, rest) = config.split_once("[preprocessor.guide]").unwrap();
    let (_, rest) = rest.split_once("[output.html]").unwrap();
    sample.write("book.toml", &format!("{head}[output.html]{rest}"));
    let (output, _) = sample.build();
    assert!(
        output.status.success(),
        "mdBook notices nothing: {}",
        sample::text(&output)
    );
    let (_, found) = sample.guide_book(&["check", "book"]);
    let unmarked: BTreeSet<_> = found
        .iter()
        .filter(|(kind, ..)| *kind == Kind::RunIdMissing)
        .map(|(_, id, ..)| id)
        .collect();
    assert_eq!(unmarked.len(), 6, "{found:?}");
}

#[test]
fn two_builds_of_the_same_sources_are_the_same() {
    let sample = Sample::new();
    let page = |sample: &Sample| {
        let (output, found) = sample.build();
        assert_eq!(found, [], "{}", sample::text(&output));
        sample.read("book/recipes/adds.html")
    };
    let first = page(&sample);
    assert_eq!(first, page(&sample));
    sample.replace("src/notes.md", "Nothing is", "Not a thing is");
    assert_ne!(first, page(&sample), "another run has another id");
}

#[test]
fn runs_are_taken_over_only_while_nothing_that_runs_has_changed() {
    let sample = Sample::new();
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path();
    let found = || sample.build_with(&[("GUIDE_RUNS", runs)]).1;
    let differs = [(Kind::OutputDiffers, "adds", "listings/adds/output.txt", 2)];
    // The first build shortens the copied lock file.
    assert_eq!(sample.build().1, []);
    assert_eq!(found(), []);
    // Another output than any run would give, to see whether it is taken.
    let kept = fs::read_dir(runs).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(&kept).unwrap();
    fs::write(&kept, text.replace("sum: 3\\n", "sum: 9\\n")).unwrap();
    assert_eq!(found(), sample::sorted(&differs));
    sample.replace("listings/adds/output.txt", "sum: 3", "sum: 9");
    assert_eq!(found(), []);
    sample.replace("listings/adds/main.rs", "//! Adds", "//! It adds");
    assert_eq!(found(), sample::sorted(&differs), "the listing was not run");
    // What ran is taken over in its turn.
    assert_eq!(fs::read_dir(runs).unwrap().count(), 2);
    assert_eq!(found(), sample::sorted(&differs));
    assert_eq!(fs::read_dir(runs).unwrap().count(), 2);
}

#[test]
fn bless_makes_expectations_what_the_runs_show() {
    let sample = Sample::new();
    let (output, found) = sample.guide_book(&["bless"]);
    assert_eq!(found, []);
    assert!(output.stdout.is_empty(), "{}", sample::text(&output));
    assert!(sample::text(&output).ends_with("guide: every expectation is what the runs show\n"));

    // A claim that does not hold: nothing is written.
    sample.replace(
        "src/index.md",
        "sum | {{fact adds.sum = 3}}",
        "sum | {{fact adds.sum = 5}}",
    );
    sample.replace("listings/adds/main.rs", "sum == 3", "sum == 4");
    let (_, found) = sample.guide_book(&["bless"]);
    assert_eq!(
        found,
        sample::sorted(&[(Kind::ClaimFails, "adds.exact", "listings/adds/main.rs", 15)])
    );
    assert!(
        sample
            .read("src/index.md")
            .contains("{{fact adds.sum = 5}}")
    );

    // A listing that ends otherwise than declared is no expectation either.
    sample.replace("listings/adds/main.rs", "sum == 4", "sum == 3");
    sample.replace("listings/dies/output.txt", "# signal SIGABRT", "# exit 1");
    let (_, found) = sample.guide_book(&["bless"]);
    assert_eq!(
        found,
        sample::sorted(&[(Kind::OutcomeDiffers, "dies", "listings/dies/main.rs", 1)])
    );

    sample.replace("listings/dies/output.txt", "# exit 1", "# signal SIGABRT");
    sample.replace("listings/adds/main.rs", "sum: {sum}", "total: {sum}");
    sample.remove("listings/copies/output.txt");
    let (output, found) = sample.guide_book(&["bless"]);
    assert_eq!(found, []);
    let patch = sample::text(&output);
    for line in [
        "-| sum | {{fact adds.sum = 5}} |",
        "+| sum | {{fact adds.sum = 3}} |",
        "-sum: 3",
        "+total: 3",
        "+copies: 2",
    ] {
        assert!(
            patch.lines().any(|found| found == line),
            "no {line:?} in\n{patch}"
        );
    }
    let (output, found) = sample.build();
    assert_eq!(found, [], "{}", sample::text(&output));
}

#[test]
fn bless_reads_the_settings() {
    let sample = Sample::new();
    let before = "sum | {{fact adds.sum = 3}}";
    sample.replace(INDEX, before, "sum | {{fact adds.sum = 5}}");
    fs::rename(sample.root.join("src"), sample.root.join("pages")).unwrap();
    sample.replace("book.toml", "src = \"src\"", "src = \"pages\"");
    let (output, found) = sample.guide_book(&["bless"]);
    assert_eq!(found, [], "{}", sample::text(&output));
    assert!(sample.read("pages/index.md").contains(before));

    sample.replace("book.toml", "without-strip", "without-strips");
    let (_, found) = sample.guide_book(&["bless"]);
    let wrong = (Kind::ConfigKey, "without-strips", "book.toml", 11);
    assert_eq!(found, sample::sorted(&[wrong]));
    sample.replace("book.toml", "without-strips", "without-strip");

    let soon = [("GUIDE_EXPORT_TIMEOUT", "soon")];
    let (_, found) = sample.guide_book_in(&sample.root, &soon, &["bless"]);
    let wrong = (Kind::RunFails, "GUIDE_EXPORT_TIMEOUT", "listings", 1);
    assert_eq!(found, sample::sorted(&[wrong]));
}

/// What the sample gets besides: the sum in C++ and in Python.
const IN_OTHER_LANGUAGES: &[(&str, &str)] = &[
    (
        "adds/main.cc",
        "#include <cstdio>\nint main() { std::puts(\"sum: 3\"); }\n",
    ),
    ("adds/output.cc.txt", "$ ./adds\nsum: 3\n"),
    ("adds/main.py", "print(\"sum:\", 1 + 2)\n"),
    ("adds/output.py.txt", "$ python main.py\nsum: 3\n"),
    (
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.28)\nproject(listings CXX)\nadd_executable(adds adds/main.cc)\n",
    ),
];

const MAIN_CC: &str = "listings/adds/main.cc";
const MAIN_PY: &str = "listings/adds/main.py";
const OUTPUT_CC: &str = "listings/adds/output.cc.txt";
const OUTPUT_PY: &str = "listings/adds/output.py.txt";

/// Faults in them.
const OF_LANGUAGES: &[Fault] = &[
    Fault {
        file: MAIN_CC,
        from: "sum: 3",
        to: "sum: 4",
        found: &[
            (Kind::OutputDiffers, "adds.cc", OUTPUT_CC, 2),
            (Kind::LanguagesDiffer, "adds.cc", OUTPUT_CC, 2),
        ],
    },
    Fault {
        file: MAIN_PY,
        from: "sum:",
        to: "total:",
        found: &[
            (Kind::OutputDiffers, "adds.py", OUTPUT_PY, 2),
            // Nothing of it is what Rust prints.
            (Kind::LanguagesDiffer, "adds.py", OUTPUT_PY, 1),
        ],
    },
    Fault {
        file: OUTPUT_PY,
        from: "sum: 3",
        to: "sum: 5",
        found: &[(Kind::OutputDiffers, "adds.py", OUTPUT_PY, 2)],
    },
    Fault {
        file: OUTPUT_CC,
        from: "$ ./adds",
        to: "$ adds",
        found: &[(Kind::OutputDiffers, "adds.cc", OUTPUT_CC, 1)],
    },
    Fault {
        file: MAIN_PY,
        from: "print",
        to: "raise SystemExit(3)\nprint",
        found: &[(Kind::OutcomeDiffers, "adds.py", MAIN_PY, 1)],
    },
    Fault {
        file: MAIN_PY,
        from: "print",
        to: "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\nprint",
        found: &[(Kind::OutcomeDiffers, "adds.py", MAIN_PY, 1)],
    },
    Fault {
        file: MAIN_PY,
        from: "print",
        to: "print('x' * 2**21)\nprint",
        found: &[(Kind::OutputLimit, "adds.py", MAIN_PY, 1)],
    },
    Fault {
        file: MAIN_CC,
        from: "std::puts",
        to: "std::put",
        found: &[(Kind::ListingsDoNotCompile, "listings", MAIN_CC, 2)],
    },
    Fault {
        file: "listings/CMakeLists.txt",
        from: "add_executable(adds adds/main.cc)",
        to: "",
        found: &[(Kind::ListingWithoutBinary, "adds.cc", MAIN_CC, 1)],
    },
    Fault {
        file: "listings/CMakeLists.txt",
        from: "project(listings CXX)",
        to: "project(listings CXX)\nfind_package(Nothing REQUIRED)",
        found: &[(
            Kind::ListingsDoNotCompile,
            "listings",
            "listings/CMakeLists.txt",
            3,
        )],
    },
    Fault {
        file: ADDS,
        from: "\n{{output adds.py}}\n",
        to: "",
        found: &[(Kind::ListingWithoutPage, "adds.py", MAIN_PY, 1)],
    },
    // What the listing in Rust fails with is not said again.
    Fault {
        file: "listings/adds/main.rs",
        from: "sum == 3",
        to: "sum == 4",
        found: &[(Kind::ClaimFails, "adds.exact", "listings/adds/main.rs", 15)],
    },
];

#[test]
fn listings_in_other_languages_keep_the_same_rules() {
    let sample = Sample::new();
    for (file, text) in IN_OTHER_LANGUAGES {
        sample.write(&format!("listings/{file}"), text);
    }
    sample.replace(
        ADDS,
        "main.rs:sum}}\n```\n",
        "main.rs:sum}}\n```\n\n```cpp\n{{#include ../../listings/adds/main.cc}}\n```\n",
    );
    sample.replace(
        ADDS,
        "{{output adds}}\n",
        "{{output adds}}\n\n{{output adds.cc}}\n\n{{output adds.py}}\n",
    );
    let (output, found) = sample.build();
    assert_eq!(found, [], "{}", sample::text(&output));
    let html = sample.read("book/recipes/adds.html");
    for shown in [
        "<div class=\"tabs\">\n<div class=\"tab\">\n<p class=\"tab-name\">Rust</p>",
        "<p class=\"tab-name\">C++</p>\n\n<pre><code class=\"language-cpp\">",
        "<p class=\"tab-name\">Python</p>\n\n<div class=\"output\" id=\"listing-adds.py\">",
        "Printed in this build by <code>listings/adds/main.py</code>",
    ] {
        assert!(html.contains(shown), "no {shown:?} in:\n{html}");
    }

    for fault in OF_LANGUAGES {
        let before = sample.read(fault.file);
        sample.replace(fault.file, fault.from, fault.to);
        let (output, mut found) = sample.build();
        found.sort();
        assert_eq!(
            found,
            sample::sorted(fault.found),
            "{}",
            sample::text(&output)
        );
        sample.write(fault.file, &before);
    }
    let (output, found) = sample.guide_book(&["bless"]);
    assert_eq!((found, output.stdout.len()), (vec![], 0));
    sample.remove(OUTPUT_PY);
    let (_, found) = sample.build();
    assert_eq!(
        found,
        sample::sorted(&[(Kind::ListingWithoutOutput, "adds.py", MAIN_PY, 1)])
    );
    let (_, found) = sample.guide_book(&["bless"]);
    assert_eq!(
        (found, sample.read(OUTPUT_PY).as_str()),
        (vec![], "$ python main.py\nsum: 3\n")
    );
    sample.write("listings/copies/output.py.txt", "$ python main.py\n");
    let (_, found) = sample.build();
    let orphaned = "listings/copies/output.py.txt";
    assert_eq!(
        found,
        sample::sorted(&[(Kind::OutputWithoutListing, "copies.py", orphaned, 1)])
    );
    sample.remove(orphaned);

    sample.replace(MAIN_PY, "print", "import time\ntime.sleep(60)\nprint");
    let (_, found) =
        sample.guide_book_in(&sample.root, &[("GUIDE_LISTING_TIMEOUT", "5")], &["bless"]);
    assert_eq!(
        found,
        sample::sorted(&[(Kind::TimeLimit, "adds.py", MAIN_PY, 1)])
    );
}

#[test]
fn every_rule_has_a_fault() {
    let planted: BTreeSet<Kind> = ON_PAGES
        .iter()
        .chain(IN_THE_BUILD)
        .chain(IN_THE_SITE)
        .chain(OF_LANGUAGES)
        .flat_map(|fault| fault.found)
        .chain(OF_FILES.iter().flat_map(|(_, _, found)| *found))
        .map(|(kind, ..)| *kind)
        // In the test of the preprocessor itself, and, with shorter limits, in the tests of the runner.
        .chain([
            Kind::StalePreprocessor,
            Kind::MdbookVersion,
            Kind::TimeLimit,
            Kind::RunFails,
        ])
        .collect();
    let missing: Vec<_> = Kind::ALL
        .iter()
        .filter(|kind| !planted.contains(kind))
        .collect();
    assert!(missing.is_empty(), "rules that no test breaks: {missing:?}");
}

#[test]
fn a_listing_is_tested_by_its_own_expectations() {
    // `prove_listing` looks for the workspace from the current folder: here that is the real one.
    let failures = book::prove_listing("no-such-listing", Path::new("none")).unwrap_err();
    assert_eq!(failures.all()[0].kind, Kind::ListingUnknown);
    assert!(Workspace::find().is_ok());
}
