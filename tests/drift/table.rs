//! The faults: one row each.

use std::collections::BTreeSet;

use book::Kind as K;

use crate::fault::Area::{Build, Device, Exporter, Guidance, Runtime};
use crate::fault::At::{Above, Call, Line, Text};
use crate::fault::Plant::{self, Remove, Replace, Script, Write};
use crate::fault::{Fault, fault};

const PAIR: &str = "src/recipes/pair-the-input-skip.md";
const PAIR_MAIN: &str = "listings/pairing-rule/main.rs";
const PAIR_OUTPUT: &str = "listings/pairing-rule/output.txt";
const STAYS: &str = "src/why/how-this-guide-stays-true.md";
const STAND_IN_MAIN: &str = "listings/stand-in/main.rs";
const STAND_IN_OUTPUT: &str = "listings/stand-in/output.txt";
const CHOOSE: &str = "src/recipes/choose-a-recipe.md";
const CHOOSE_MAIN: &str = "listings/choose-a-recipe/main.rs";
const PLANNED: &str = "src/recipes/planned-output.md";
const PLANNED_MAIN: &str = "listings/planned-output/main.rs";
const CALLER_MAIN: &str = "listings/caller-output/main.rs";
const FIRST: &str = "src/start/first-device-program.md";
const FIRST_MAIN: &str = "listings/first-device-program/main.rs";
const OWNERS: &str = "src/why/who-owns-the-memory.md";
const OWNERS_MAIN: &str = "listings/who-owns-the-memory/main.rs";
const HALF_MAIN: &str = "listings/half-a-pair/main.rs";
const DEFAULT_MAIN: &str = "listings/default-copies/main.rs";
const MEMCPY_MAIN: &str = "listings/host-memcpy/main.rs";
const INSTALL: &str = "src/start/install.md";
const HAVE_MAIN: &str = "listings/know-what-you-have/main.rs";
const INDEX: &str = "src/index.md";
const CALLER: &str = "src/recipes/caller-output.md";
const HALF: &str = "src/why/outputs-and-kept-copies.md";
const CALLER_OUTPUT: &str = "listings/caller-output/output.txt";
const CHOOSE_OUTPUT: &str = "listings/choose-a-recipe/output.txt";
const FIRST_OUTPUT: &str = "listings/first-device-program/output.txt";
const HAVE_OUTPUT: &str = "listings/know-what-you-have/output.txt";
const PLANNED_OUTPUT: &str = "listings/planned-output/output.txt";
const PLANNED_EXPORT: &str = "listings/planned-output/export.py";
const CHECK: &str = "src/recipes/check-a-pte.md";
const CHECK_MAIN: &str = "listings/check-a-pte/main.rs";
const PTE: &str = "src/reference/pte.md";
const SHOW_MAIN: &str = "listings/pte-show/main.rs";
const SHOW_OUTPUT: &str = "listings/pte-show/output.txt";
const PLANNED_CC: &str = "listings/planned-output/main.cc";
const PLANNED_CC_OUTPUT: &str = "listings/planned-output/output.cc.txt";
const PLANNED_PY_OUTPUT: &str = "listings/planned-output/output.py.txt";
const CALLER_PY: &str = "listings/caller-output/main.py";
const RELEASES_MAIN: &str = "listings/releases/main.rs";
const GUIDE_BOOK: &str = ".venv/tools/bin/guide-book";

/// Where a sentence can be added to a page, and what stands there.
const PROSE: &str = "The model stays on the host while you export it.";

/// `from` becomes `to` on the page about the pairing rule.
const fn on_page(from: &'static str, to: &'static str) -> Plant {
    Replace { file: PAIR, from, to }
}

pub const FAULTS: &[Fault] = &[
    // What a page says.
    fault(
        Guidance,
        "matrix-cell",
        "a cell of the committed matrix says what another one does",
        &[Replace {
            file: "crates/matrix/matrix.json",
            from: "\"static h1d1_i0o0_n1 cpp device-tensor no-set-output\": \"79099ced\"",
            to: "\"static h1d1_i0o0_n1 cpp device-tensor no-set-output\": \"be7c0281\"",
        }],
        &[
            (K::ClaimFails, "behaviour.measured-again", "listings/behaviour/main.rs", Call("behaviour.measured-again")),
            (K::ClaimFails, "releases.compared", RELEASES_MAIN, Call("releases.compared")),
            (
                K::ClaimFails,
                "published.cpp",
                "listings/where-published-guidance-differs/main.rs",
                Text("claim(origin, id, sentence, holds);"),
            ),
        ],
    ),
    fault(
        Guidance,
        "release-stale",
        "another release was compared with tables that are no longer these",
        &[Replace {
            file: "crates/matrix/releases.json",
            from: "\"1.5.0\": {\"against\": \"",
            to: "\"1.5.0\": {\"against\": \"0",
        }],
        &[(K::ClaimFails, "releases.compared", RELEASES_MAIN, Call("releases.compared"))],
    ),
    fault(
        Guidance,
        "release-differs",
        "another release is recorded to plan otherwise",
        &[Replace {
            file: "crates/matrix/releases.json",
            from: "\"programs\": 286, \"cells\": 8704, \"cases\": 286, \"changed\": {}",
            to: "\"programs\": 286, \"cells\": 8704, \"cases\": 286, \"changed\": {\"static h1d1_i0o0_n1\": {\"then\": 1, \"now\": 2}}",
        }],
        &[(K::ClaimFails, "releases.same-plans", RELEASES_MAIN, Call("releases.same-plans"))],
    ),
    fault(
        Guidance,
        "number",
        "a page quotes another number than the run's",
        &[Replace { file: OWNERS, from: "host-to-host.device_arena = 768", to: "host-to-host.device_arena = 1024" }],
        &[(K::FactDiffers, "choose-a-recipe.host-to-host.device_arena", OWNERS, Text("device_arena = 1024"))],
    ),
    fault(
        Guidance,
        "error-text",
        "a page words an error otherwise than the runtime",
        &[on_page("copy needs host memory on both sides", "copy needs host memory on either side")],
        &[(K::FactDiffers, "pairing-rule.unpaired.device_log", PAIR, Text("on either side"))],
    ),
    fault(
        Guidance,
        "error-code",
        "a page quotes another code than the runtime's",
        &[on_page("unpaired.code = 0x10", "unpaired.code = 0x12")],
        &[(K::FactDiffers, "pairing-rule.unpaired.code", PAIR, Text("0x12"))],
    ),
    fault(
        Guidance,
        "table-cell",
        "the recipe table names the wrong setting",
        &[Replace {
            file: INDEX,
            from: "device-to-host.alloc_graph_input = False",
            to: "device-to-host.alloc_graph_input = True",
        }],
        &[(
            K::FactDiffers,
            "choose-a-recipe.device-to-host.alloc_graph_input",
            INDEX,
            Text("device-to-host.alloc_graph_input = True"),
        )],
    ),
    fault(
        Guidance,
        "fact-of-nothing",
        "a page quotes a fact that nothing records",
        &[on_page("{{fact pairing-rule.unpaired.code =", "{{fact pairing-rule.unpaired.number =")],
        &[(K::FactUnknown, "pairing-rule.unpaired.number", PAIR, Text("unpaired.number"))],
    ),
    fault(
        Guidance,
        "sense-on-page",
        "a claim's sense is flipped on the page",
        &[on_page("[No copy between host and device runs", "[A copy between host and device runs")],
        &[(K::SentenceDiffers, "pairing.no-copies", PAIR, Text("{claim=pairing.no-copies}"))],
    ),
    fault(
        Guidance,
        "sense-in-listing",
        "a claim's sense is flipped in the listing",
        &[Replace { file: PAIR_MAIN, from: "\"No copy between host", to: "\"A copy between host" }],
        &[(K::SentenceDiffers, "pairing.no-copies", PAIR, Text("{claim=pairing.no-copies}"))],
    ),
    fault(
        Guidance,
        "claim-id",
        "a claim's id is misspelt",
        &[on_page("{claim=pairing.no-copies}", "{claim=pairing.no-copy}")],
        &[
            (K::ClaimWithoutAssertion, "pairing.no-copy", PAIR, Text("{claim=pairing.no-copy}")),
            (K::AssertionWithoutClaim, "pairing.no-copies", PAIR_MAIN, Call("pairing.no-copies")),
        ],
    ),
    fault(
        Guidance,
        "claim-deleted",
        "a claim is deleted from its page",
        &[on_page(
            concat!(
                "- [No copy between host and device runs at the method's boundary.]",
                "{claim=pairing.no-copies}\n"
            ),
            "",
        )],
        &[(K::AssertionWithoutClaim, "pairing.no-copies", PAIR_MAIN, Call("pairing.no-copies"))],
    ),
    fault(
        Guidance,
        "claim-unmarked",
        "a claim is left as a plain sentence",
        &[on_page("boundary.]{claim=pairing.no-copies}", "boundary.]{claim}")],
        &[
            (K::ClaimMalformed, "{claim}", PAIR, Text("{claim}")),
            (K::AssertionWithoutClaim, "pairing.no-copies", PAIR_MAIN, Call("pairing.no-copies")),
        ],
    ),
    fault(
        Guidance,
        "assertion-deleted",
        "a listing no longer asserts what a page says",
        &[Replace {
            file: PAIR_MAIN,
            from: concat!(
                "    claim(\n        StandIn,\n        \"pairing.exact\",\n",
                "        \"The result equals eager PyTorch bit for bit.\",\n        exact,\n    );\n"
            ),
            to: "    let _ = StandIn;\n",
        }],
        &[(K::ClaimWithoutAssertion, "pairing.exact", PAIR, Text("{claim=pairing.exact}"))],
    ),
    fault(
        Guidance,
        "condition-flipped",
        "a listing asserts the opposite of its sentence",
        &[Replace { file: PAIR_MAIN, from: "copies.h2d.calls == 0 &&", to: "copies.h2d.calls != 0 &&" }],
        &[(K::ClaimFails, "pairing.no-copies", PAIR_MAIN, Call("pairing.no-copies"))],
    ),
    fault(
        Guidance,
        "fact-misnamed",
        "a listing records a fact under another listing's name",
        &[Replace {
            file: PLANNED_MAIN,
            from: "\"planned-output.set_output.code\"",
            to: "\"caller-output.set_output.code\"",
        }],
        &[
            (K::FactMisnamed, "caller-output.set_output.code", PLANNED_MAIN, Call("caller-output.set_output.code")),
            (K::FactUnstated, "caller-output.set_output.code", PLANNED_MAIN, Call("caller-output.set_output.code")),
            (K::FactUnknown, "planned-output.set_output.code", PLANNED, Text("planned-output.set_output.code")),
        ],
    ),
    fault(
        Guidance,
        "listing-broken",
        "a listing does not compile",
        &[Replace {
            file: PLANNED_MAIN,
            from: "let first = address(&outputs[0]);",
            to: "let first: () = address(&outputs[0]);",
        }],
        &[(K::ListingsDoNotCompile, "listings", PLANNED_MAIN, Text("let first: ()"))],
    ),
    fault(
        Guidance,
        "recipe-flag",
        "a setting in a recipe that readers copy is flipped",
        &[Replace {
            file: PLANNED_EXPORT,
            from: "skip_d2h_for_method_outputs=True",
            to: "skip_d2h_for_method_outputs=False",
        }],
        &[
            (K::OutcomeDiffers, "planned-output", PLANNED_MAIN, Line(1)),
            (K::ClaimFails, "check.exit-codes", CHECK_MAIN, Call("check.exit-codes")),
            (K::ClaimFails, "pte.diff", SHOW_MAIN, Call("pte.diff")),
        ],
    ),
    fault(
        Guidance,
        "recipe-half",
        "a recipe that readers copy loses half of its pair",
        &[Replace { file: PLANNED_EXPORT, from: "alloc_graph_input=False", to: "alloc_graph_input=True" }],
        &[
            (K::OutcomeDiffers, "planned-output", PLANNED_MAIN, Line(1)),
            (K::ClaimFails, "check.exit-codes", CHECK_MAIN, Call("check.exit-codes")),
            (K::OutputDiffers, "pte-show", SHOW_OUTPUT, Text("model.pte: 1 method, 1488 B of file, 1256 B of program")),
        ],
    ),
    fault(
        Guidance,
        "recipe-broken",
        "a recipe that readers copy does not export",
        &[Replace {
            file: PLANNED_EXPORT,
            from: "            memory_planning_pass=",
            to: concat!("            enable_non_cpu_memory_planning=False,\n", "            memory_planning_pass="),
        }],
        &[
            (K::ExportFails, "planned-output/planned_output", PLANNED_EXPORT, Line(1)),
            (K::OutcomeDiffers, "check-a-pte", CHECK_MAIN, Line(1)),
            (K::OutcomeDiffers, "pte-show", SHOW_MAIN, Line(1)),
        ],
    ),
    // Outputs and listings.
    fault(
        Guidance,
        "output-changed",
        "an expected output has another number",
        &[Replace { file: PAIR_OUTPUT, from: "unpaired: 768 planned", to: "unpaired: 512 planned" }],
        &[(K::OutputDiffers, "pairing-rule", PAIR_OUTPUT, Text("512 planned"))],
    ),
    fault(
        Guidance,
        "output-deleted",
        "an expected output is deleted",
        &[Remove { file: PAIR_OUTPUT }],
        &[(K::ListingWithoutOutput, "pairing-rule", PAIR_MAIN, Line(1))],
    ),
    fault(
        Guidance,
        "output-orphaned",
        "an expected output has no listing",
        &[Write { file: "listings/gone/output.txt", text: "$ cargo run --bin gone\nfine\n" }],
        &[(K::OutputWithoutListing, "gone", "listings/gone/output.txt", Line(1))],
    ),
    fault(
        Guidance,
        "outcome-declared",
        "an expected output declares an end that the listing does not have",
        &[Replace {
            file: PLANNED_OUTPUT,
            from: "the copy that was kept: [15.750, 15.625, 15.500] …\n",
            to: "the copy that was kept: [15.750, 15.625, 15.500] …\n# exit 1\n",
        }],
        &[
            (K::OutcomeDiffers, "planned-output", PLANNED_MAIN, Line(1)),
            (K::ExitUnstated, "planned-output.exit", PLANNED_OUTPUT, Text("# exit 1")),
        ],
    ),
    fault(
        Guidance,
        "listing-unshown",
        "no page shows a listing",
        &[Replace { file: CHOOSE, from: "{{output default-copies}}\n", to: "" }],
        &[(K::ListingWithoutPage, "default-copies", DEFAULT_MAIN, Line(1))],
    ),
    fault(
        Guidance,
        "listing-unknown",
        "a page shows the output of a listing that does not exist",
        &[on_page("{{output pairing-rule}}", "{{output pairing-rules}}")],
        &[(K::ListingUnknown, "pairing-rules", PAIR, Text("pairing-rules"))],
    ),
    fault(
        Guidance,
        "listing-unbuilt",
        "a listing is not among the programs that cargo builds",
        &[Replace {
            file: "listings/Cargo.toml",
            from: concat!("[[bin]]\nname = \"default-copies\"\n", "path = \"default-copies/main.rs\"\ntest = false\n"),
            to: "",
        }],
        &[(K::ListingWithoutBinary, "default-copies", DEFAULT_MAIN, Line(1))],
    ),
    // Listings in C++ and Python.
    fault(
        Guidance,
        "language-differs",
        "a program in C++ adds other numbers than the one in Rust",
        &[Replace { file: PLANNED_CC, from: "(63 - i) / 4.0f", to: "(63 - i) / 2.0f" }],
        &[
            (K::OutputDiffers, "planned-output.cc", PLANNED_CC_OUTPUT, Line(2)),
            (K::LanguagesDiffer, "planned-output.cc", PLANNED_CC_OUTPUT, Line(2)),
        ],
    ),
    fault(
        Guidance,
        "language-broken",
        "a program in C++ does not compile",
        &[Replace { file: PLANNED_CC, from: "cudaDeviceSynchronize();", to: "cudaSynchronize();" }],
        &[(K::ListingsDoNotCompile, "listings", PLANNED_CC, Text("cudaSynchronize();"))],
    ),
    fault(
        Guidance,
        "language-unbuilt",
        "a program in C++ is not among those that CMake builds",
        &[Replace {
            file: "listings/CMakeLists.txt",
            from: concat!(
                "add_executable(caller-output caller-output/main.cc)\n",
                "# Where there is a GPU: CUDA::cudart and executorch::backend_cuda in the place of stand_in.\n",
                "target_link_libraries(caller-output PRIVATE ",
                "executorch::runtime executorch::kernels_optimized stand_in)\n"
            ),
            to: "",
        }],
        &[(K::ListingWithoutBinary, "caller-output.cc", "listings/caller-output/main.cc", Line(1))],
    ),
    fault(
        Guidance,
        "language-output",
        "the expected output of a program in Python has another number",
        &[Replace { file: PLANNED_PY_OUTPUT, from: "[31.500, 31.000", to: "[31.500, 32.000" }],
        &[(K::OutputDiffers, "planned-output.py", PLANNED_PY_OUTPUT, Text("[31.500, 32.000"))],
    ),
    fault(
        Guidance,
        "language-outcome",
        "a program in Python that must fail passes",
        &[Replace { file: CALLER_PY, from: "sys.exit(1)", to: "sys.exit(0)" }],
        &[
            (K::OutcomeDiffers, "caller-output.py", CALLER_PY, Line(1)),
            (K::FactDiffers, "caller-output.py.exit", CALLER, Text("caller-output.py.exit")),
        ],
    ),
    fault(
        Guidance,
        "language-synchronise",
        "a program in Python reads its result before it is there",
        &[Replace { file: "listings/pairing-rule/main.py", from: "gpu.synchronize()\nfirst", to: "first" }],
        &[
            (K::OutputDiffers, "pairing-rule.py", "listings/pairing-rule/output.py.txt", Line(2)),
            (K::LanguagesDiffer, "pairing-rule.py", "listings/pairing-rule/output.py.txt", Line(2)),
        ],
    ),
    fault(
        Guidance,
        "language-orphaned",
        "an expected output in Python has no program",
        &[Write { file: "listings/gone/output.py.txt", text: "$ python main.py\nfine\n" }],
        &[(K::OutputWithoutListing, "gone.py", "listings/gone/output.py.txt", Line(1))],
    ),
    fault(
        Guidance,
        "language-unshown",
        "no page shows a program in Python",
        &[
            Replace { file: CALLER, from: "{{output caller-output.py}}\n", to: "" },
            Replace {
                file: CALLER,
                from: "```python\n{{#include ../../listings/caller-output/main.py:program}}\n```\n",
                to: "",
            },
        ],
        &[(K::ListingWithoutPage, "caller-output.py", CALLER_PY, Line(1))],
    ),
    // Includes and links.
    fault(
        Guidance,
        "anchor-renamed",
        "an anchor is renamed",
        &[
            Replace { file: "listings/pairing-rule/test_pairing.py", from: "# ANCHOR: test", to: "# ANCHOR: check" },
            Replace {
                file: "listings/pairing-rule/test_pairing.py",
                from: "# ANCHOR_END: test",
                to: "# ANCHOR_END: check",
            },
        ],
        &[(K::AnchorMissing, "../../listings/pairing-rule/test_pairing.py:test", PAIR, Text("test_pairing.py:test"))],
    ),
    fault(
        Guidance,
        "include-missing",
        "a page includes a file that does not exist",
        &[on_page("test_pairing.py:test", "test_pair.py:test")],
        &[(K::IncludeMissing, "../../listings/pairing-rule/test_pair.py:test", PAIR, Text("test_pair.py"))],
    ),
    fault(
        Guidance,
        "include-lines",
        "a page includes by line numbers",
        &[on_page("test_pairing.py:test", "test_pairing.py:3:9")],
        &[(K::LineRange, "../../listings/pairing-rule/test_pairing.py:3:9", PAIR, Text("test_pairing.py:3:9"))],
    ),
    fault(
        Guidance,
        "include-whole",
        "a page includes a file with its anchor comments",
        &[on_page("main.rs:paired", "main.rs")],
        &[(K::AnchorsShown, "../../listings/pairing-rule/main.rs", PAIR, Text("pairing-rule/main.rs}}"))],
    ),
    fault(
        Guidance,
        "link-broken",
        "a link leads to a page that does not exist",
        &[Replace { file: CHOOSE, from: "(caller-output.md)", to: "(callers-output.md)" }],
        &[(K::LinkBroken, "callers-output.md", CHOOSE, Text("callers-output.md"))],
    ),
    fault(
        Guidance,
        "fragment-broken",
        "a link leads to a heading that does not exist",
        &[Replace { file: FIRST, from: "(install.md#when-it-fails)", to: "(install.md#if-it-fails)" }],
        &[(K::FragmentBroken, "install.md#if-it-fails", FIRST, Text("install.md#if-it-fails"))],
    ),
    fault(
        Guidance,
        "heading-renamed",
        "a heading that other pages link to is renamed",
        &[Replace { file: CHOOSE, from: "## Host in, host out", to: "## From host to host" }],
        &[
            (
                K::FragmentBroken,
                "recipes/choose-a-recipe.md#host-in-host-out",
                INDEX,
                Text("choose-a-recipe.md#host-in-host-out"),
            ),
            (
                K::FragmentBroken,
                "../recipes/choose-a-recipe.md#host-in-host-out",
                PTE,
                Text("{{fact pte-rules.l8.summary = Each execution copies betw"),
            ),
        ],
    ),
    // What nobody proved.
    fault(
        Guidance,
        "unclaimed-number",
        "a number with a unit that no run stands behind",
        &[on_page(PROSE, "The model takes 512 bytes and stays on the host while you export it.")],
        &[(K::UnclaimedNumber, "512 bytes", PAIR, Text("takes 512 bytes"))],
    ),
    fault(
        Guidance,
        "unclaimed-code",
        "a code that no run stands behind",
        &[on_page(PROSE, "The model stays on the host while you export it, else 0x23.")],
        &[(K::UnclaimedCode, "0x23", PAIR, Text("0x23"))],
    ),
    fault(
        Guidance,
        "unclaimed-message",
        "a quoted message that no run stands behind",
        &[on_page(PROSE, "The runtime says \"this model cannot be run here\".")],
        &[(K::UnclaimedMessage, "this model cannot be run here", PAIR, Text("cannot be run here"))],
    ),
    fault(
        Guidance,
        "typed-version",
        "a version that somebody typed",
        &[on_page(PROSE, "With ExecuTorch 1.5.1 the model stays on the host.")],
        &[(K::TypedVersion, "ExecuTorch 1.5", PAIR, Text("ExecuTorch 1.5.1"))],
    ),
    fault(
        Guidance,
        "typed-code",
        "code that is typed on the page",
        &[on_page(
            concat!("```python\n{{#include ../../listings/", "pairing-rule/export.py:program}}\n```"),
            "```toml\n[dependencies]\n```",
        )],
        &[(K::TypedCode, "toml", PAIR, Text("```toml"))],
    ),
    fault(
        Guidance,
        "typed-output",
        "output that is typed on the page",
        &[on_page("{{output pairing-rule}}", "```console\npaired: runs\n```")],
        &[(K::TypedCode, "console", PAIR, Text("```console"))],
    ),
    fault(
        Guidance,
        "snippet-ignored",
        "a Rust block is not compiled, and nobody says why",
        &[on_page("```rust\n# fn main() {", "```rust,ignore\n# fn main() {")],
        &[(K::IgnoreWithoutReason, "ignore", PAIR, Text("```rust,ignore"))],
    ),
    fault(
        Guidance,
        "fence-unnamed",
        "a code block does not say its language",
        &[on_page("```rust\n# fn main() {", "```\n# fn main() {")],
        &[(K::FenceWithoutLanguage, "", PAIR, Above("# fn main() {"))],
    ),
    fault(
        Guidance,
        "braces",
        "braces that are no directive",
        &[on_page(PROSE, "{{facts pairing-rule.paired.planned_bytes}}")],
        &[(K::UnknownDirective, "facts", PAIR, Text("{{facts"))],
    ),
    fault(
        Guidance,
        "version-of-nothing",
        "a page asks for the version of nothing",
        &[Replace { file: OWNERS, from: "{{version executorch}}", to: "{{version executorh}}" }],
        &[(K::DirectiveMalformed, "version", OWNERS, Text("executorh}}"))],
    ),
    fault(
        Guidance,
        "output-in-a-line",
        "an output stands inside a sentence",
        &[on_page("{{output pairing-rule}}", "See {{output pairing-rule}}")],
        &[(K::DirectiveMisplaced, "pairing-rule", PAIR, Text("See {{output"))],
    ),
    // Pages.
    fault(
        Guidance,
        "page-unlisted",
        "a page is not in SUMMARY.md",
        &[Write { file: "src/why/notes.md", text: "# Notes\n\nNothing yet.\n" }],
        &[(K::PageUnlisted, "why/notes.md", "src/why/notes.md", Line(1))],
    ),
    fault(
        Guidance,
        "page-unwritten",
        "SUMMARY.md names a chapter without a page",
        &[Replace { file: "src/SUMMARY.md", from: "# Why\n", to: "# Why\n\n- [Why not]()" }],
        &[(K::PageMissing, "Why not", "src/SUMMARY.md", Text("[Why not]"))],
    ),
    fault(
        Guidance,
        "strip-missing",
        "a page does not say what stands behind it",
        &[on_page("{{strip}}\n", "")],
        &[(K::StripMissing, "strip", PAIR, Line(1))],
    ),
    fault(
        Guidance,
        "stand-in-as-real",
        "our stand-in's word stands in the index of errors",
        &[Replace {
            file: "book.toml",
            from: "before = [\"links\"]\n",
            to: "before = [\"links\"]\nerror-index = \"recipes/planned-output.md\"\n",
        }],
        &[
            (K::StandInInErrorIndex, "planned-output", PLANNED, Text("{{output planned-output}}")),
            (K::StandInInErrorIndex, "planned-output.keep", PLANNED, Text("{claim=planned-output.keep}")),
            (K::StandInInErrorIndex, "planned-output.queued", PLANNED, Text("{claim=planned-output.queued}")),
            (K::StandInInErrorIndex, "planned-output.cc", PLANNED, Text("{{output planned-output.cc}}")),
            (K::StandInInErrorIndex, "planned-output.py", PLANNED, Text("{{output planned-output.py}}")),
        ],
    ),
    // The command `pte`.
    fault(
        Guidance,
        "check-sense",
        "the page on checking says the opposite of what the runtime answers",
        &[Replace {
            file: CHECK,
            from: "[The runtime refuses the unpaired program with the code",
            to: "[The runtime runs the unpaired program with the code",
        }],
        &[(K::SentenceDiffers, "check.foretold", CHECK, Text("{claim=check.foretold}"))],
    ),
    fault(
        Guidance,
        "check-workflow",
        "the workflow that readers copy asks for another output than the program has",
        &[Replace {
            file: "listings/check-a-pte/workflow.yml",
            from: "--format github --caller python --expect device-in,planned-device-out",
            to: "--format github --caller python --expect device-in,planned-host-out",
        }],
        &[(K::ClaimFails, "check.workflow", CHECK_MAIN, Call("check.workflow"))],
    ),
    fault(
        Guidance,
        "check-foretells",
        "`pte check` foretells another code than the runtime's",
        &[Replace {
            file: "crates/pte/src/lint/check.rs",
            from: "pub(in crate::lint) const NOT_SUPPORTED: u32 = 0x10;",
            to: "pub(in crate::lint) const NOT_SUPPORTED: u32 = 0x12;",
        }],
        &[(K::ClaimFails, "check.foretold", CHECK_MAIN, Call("check.foretold"))],
    ),
    fault(
        Guidance,
        "rule-text",
        "the page on the command words a rule otherwise than the command",
        &[Replace {
            file: PTE,
            from: "pte-rules.l4.summary = An output lives on a device",
            to: "pte-rules.l4.summary = An output lives on the host",
        }],
        &[(K::FactDiffers, "pte-rules.l4.summary", PTE, Text("pte-rules.l4.summary"))],
    ),
    fault(
        Guidance,
        "option-renamed",
        "the command calls an option otherwise than the page",
        &[Replace {
            file: "crates/pte/src/command/args.rs",
            from: "  --deny LEVEL      exit with 1",
            to: "  --fail LEVEL      exit with 1",
        }],
        &[(K::OutputDiffers, "pte-help", "listings/pte-help/output.txt", Text("  --deny LEVEL      exit with 1"))],
    ),
    fault(
        Guidance,
        "schema-version",
        "the documents have another version than the page says",
        &[Replace {
            file: "crates/pte/src/command/mod.rs",
            from: "pub const JSON_VERSION: u32 = 1;",
            to: "pub const JSON_VERSION: u32 = 2;",
        }],
        &[(K::FactDiffers, "pte-help.schema-version", PTE, Text("pte-help.schema-version"))],
    ),
    // The exporter.
    fault(
        Exporter,
        "input-planned-always",
        "`alloc_graph_input=False` is ignored",
        &[Plant::Exporter { module: "ignores_alloc_graph_input" }],
        &[
            (K::ClaimFails, "check.exit-codes", CHECK_MAIN, Call("check.exit-codes")),
            (K::OutputDiffers, "pte-show", SHOW_OUTPUT, Text("model.pte: 1 method, ")),
            (K::ClaimFails, "caller-output.nothing-planned", CALLER_MAIN, Call("caller-output.nothing-planned")),
            (K::ClaimFails, "copies.unplanned-inputs", DEFAULT_MAIN, Call("copies.unplanned-inputs")),
            (K::ClaimFails, "half.null-output", HALF_MAIN, Call("half.null-output")),
            (K::ClaimFails, "install.delegate-missing", HAVE_MAIN, Call("install.delegate-missing")),
            (K::ClaimFails, "owners.arena-table-silent", OWNERS_MAIN, Call("owners.arena-table-silent")),
            (K::ClaimFails, "pairing.plan", PAIR_MAIN, Call("pairing.plan")),
            (
                K::FactDiffers,
                "know-what-you-have.load.delegate_log",
                INSTALL,
                Text("know-what-you-have.load.delegate_log"),
            ),
            (K::OutcomeDiffers, "choose-a-recipe", CHOOSE_MAIN, Line(1)),
            (K::OutcomeDiffers, "first-device-program", FIRST_MAIN, Line(1)),
            (K::OutcomeDiffers, "planned-output", PLANNED_MAIN, Line(1)),
            (K::FactDiffers, "stand-in.freed", STAYS, Text("stand-in.freed")),
            (K::FactDiffers, "stand-in.host", STAYS, Text("stand-in.host")),
            (K::FactDiffers, "stand-in.misaligned", STAYS, Text("stand-in.misaligned")),
            (K::FactDiffers, "stand-in.null_output", STAYS, Text("stand-in.null_output")),
            (K::FactDiffers, "stand-in.offset", STAYS, Text("stand-in.offset")),
            (K::FactDiffers, "stand-in.second_device", STAYS, Text("stand-in.second_device")),
            (K::FactDiffers, "stand-in.wrong_side.accept", STAYS, Text("stand-in.wrong_side.accept")),
            (K::FactDiffers, "stand-in.wrong_side.refuse", STAYS, Text("stand-in.wrong_side.refuse")),
            (K::OutcomeDiffers, "stand-in", STAND_IN_MAIN, Line(1)),
            (K::ClaimFails, "behaviour.measured-again", "listings/behaviour/main.rs", Call("behaviour.measured-again")),
            (K::ClaimFails, "dynamic.upper-bound", "listings/dynamic-shapes/main.rs", Call("dynamic.upper-bound")),
            (
                K::FactDiffers,
                "know-what-you-have.load.delegate_log",
                "src/when-it-fails/errors.md",
                Text("know-what-you-have.load.delegate_log"),
            ),
            (K::FactDiffers, "know-what-you-have.load.delegate_log", PTE, Text("know-what-you-have.load.delegate_log")),
        ],
    ),
    fault(
        Exporter,
        "output-planned-always",
        "`alloc_graph_output=False` is ignored",
        &[Plant::Exporter { module: "ignores_alloc_graph_output" }],
        &[
            (K::ClaimFails, "check.half", CHECK_MAIN, Call("check.half")),
            (K::ClaimFails, "caller-output.nothing-planned", CALLER_MAIN, Call("caller-output.nothing-planned")),
            (K::ClaimFails, "half.device-output-lost", HALF_MAIN, Call("half.device-output-lost")),
            (K::ClaimFails, "install.delegate-missing", HAVE_MAIN, Call("install.delegate-missing")),
            (K::ClaimFails, "owners.arena-table-silent", OWNERS_MAIN, Call("owners.arena-table-silent")),
            (K::ClaimFails, "pairing.planned-bytes", PAIR_MAIN, Call("pairing.planned-bytes")),
            (
                K::FactDiffers,
                "know-what-you-have.load.delegate_log",
                INSTALL,
                Text("know-what-you-have.load.delegate_log"),
            ),
            (K::OutcomeDiffers, "choose-a-recipe", CHOOSE_MAIN, Line(1)),
            (K::FactDiffers, "stand-in.null_output", STAYS, Text("stand-in.null_output")),
            (K::OutputDiffers, "stand-in", STAND_IN_OUTPUT, Text("a null output")),
            (K::ClaimFails, "behaviour.measured-again", "listings/behaviour/main.rs", Call("behaviour.measured-again")),
            (
                K::FactDiffers,
                "know-what-you-have.load.delegate_log",
                "src/when-it-fails/errors.md",
                Text("know-what-you-have.load.delegate_log"),
            ),
            (K::FactDiffers, "know-what-you-have.load.delegate_log", PTE, Text("know-what-you-have.load.delegate_log")),
        ],
    ),
    fault(
        Exporter,
        "skip-h2d-inverted",
        "`skip_h2d_for_method_inputs` means its opposite",
        &[Plant::Exporter { module: "inverts_skip_h2d" }],
        &[
            (K::ClaimFails, "check.exit-codes", CHECK_MAIN, Call("check.exit-codes")),
            (K::OutputDiffers, "pte-show", SHOW_OUTPUT, Text("model.pte: 1 method, ")),
            (K::ClaimFails, "caller-output.nothing-planned", CALLER_MAIN, Call("caller-output.nothing-planned")),
            (K::ClaimFails, "half.null-output", HALF_MAIN, Call("half.null-output")),
            (K::ClaimFails, "install.delegate-missing", HAVE_MAIN, Call("install.delegate-missing")),
            (K::ClaimFails, "memcpy.crash", MEMCPY_MAIN, Call("memcpy.crash")),
            (K::ClaimFails, "owners.arena-table-silent", OWNERS_MAIN, Call("owners.arena-table-silent")),
            (K::ClaimFails, "pairing.duplicate", PAIR_MAIN, Call("pairing.duplicate")),
            (
                K::FactDiffers,
                "know-what-you-have.load.delegate_log",
                INSTALL,
                Text("know-what-you-have.load.delegate_log"),
            ),
            (K::OutcomeDiffers, "choose-a-recipe", CHOOSE_MAIN, Line(1)),
            (K::OutcomeDiffers, "default-copies", DEFAULT_MAIN, Line(1)),
            (K::OutcomeDiffers, "first-device-program", FIRST_MAIN, Line(1)),
            (K::OutcomeDiffers, "planned-output", PLANNED_MAIN, Line(1)),
            (K::FactDiffers, "stand-in.freed", STAYS, Text("stand-in.freed")),
            (K::FactDiffers, "stand-in.host", STAYS, Text("stand-in.host")),
            (K::FactDiffers, "stand-in.offset", STAYS, Text("stand-in.offset")),
            (K::FactDiffers, "stand-in.second_device", STAYS, Text("stand-in.second_device")),
            (K::FactDiffers, "stand-in.wrong_side.refuse", STAYS, Text("stand-in.wrong_side.refuse")),
            (K::OutcomeDiffers, "stand-in", STAND_IN_MAIN, Line(1)),
            (K::ClaimFails, "behaviour.measured-again", "listings/behaviour/main.rs", Call("behaviour.measured-again")),
            (K::ClaimFails, "dynamic.upper-bound", "listings/dynamic-shapes/main.rs", Call("dynamic.upper-bound")),
            (K::ClaimFails, "errors.process-lives", "listings/errors/main.rs", Call("errors.process-lives")),
            (K::FactDiffers, "errors.cut.log", "src/when-it-fails/errors.md", Text("errors.cut.log")),
            (
                K::FactDiffers,
                "know-what-you-have.load.delegate_log",
                "src/when-it-fails/errors.md",
                Text("know-what-you-have.load.delegate_log"),
            ),
            (K::FactDiffers, "know-what-you-have.load.delegate_log", PTE, Text("know-what-you-have.load.delegate_log")),
        ],
    ),
    fault(
        Exporter,
        "skip-d2h-inverted",
        "`skip_d2h_for_method_outputs` means its opposite",
        &[Plant::Exporter { module: "inverts_skip_d2h" }],
        &[
            (K::ClaimFails, "check.exit-codes", CHECK_MAIN, Call("check.exit-codes")),
            (K::OutputDiffers, "pte-show", SHOW_OUTPUT, Text("model.pte: 1 method, ")),
            (K::ClaimFails, "caller-output.nothing-planned", CALLER_MAIN, Call("caller-output.nothing-planned")),
            (K::ClaimFails, "half.host-output-planned", HALF_MAIN, Call("half.host-output-planned")),
            (K::ClaimFails, "install.copies-are-operators", HAVE_MAIN, Call("install.copies-are-operators")),
            (
                K::OutcomeDiffers,
                "choose-a-recipe",
                "listings/tensor.rs",
                Text("assert!(tensor.device().is_cpu(), \"the result is n"),
            ),
            (
                K::OutcomeDiffers,
                "default-copies",
                "listings/tensor.rs",
                Text("assert!(tensor.device().is_cpu(), \"the result is n"),
            ),
            (
                K::OutcomeDiffers,
                "first-device-program",
                "listings/tensor.rs",
                Text("assert!(tensor.device().is_cpu(), \"the result is n"),
            ),
            (K::OutcomeDiffers, "pairing-rule", PAIR_MAIN, Line(1)),
            (K::OutcomeDiffers, "planned-output", PLANNED_MAIN, Line(1)),
            (K::OutcomeDiffers, "who-owns-the-memory", OWNERS_MAIN, Line(1)),
            (K::OutcomeDiffers, "stand-in", STAND_IN_MAIN, Line(1)),
            (K::ClaimFails, "behaviour.measured-again", "listings/behaviour/main.rs", Call("behaviour.measured-again")),
            (K::ClaimFails, "dynamic.upper-bound", "listings/dynamic-shapes/main.rs", Call("dynamic.upper-bound")),
            (K::FactDiffers, "errors.cut.log", "src/when-it-fails/errors.md", Text("errors.cut.log")),
            (
                K::OutputDiffers,
                "errors",
                "listings/errors/output.txt",
                Text("cut: InvalidProgram (0x23): File size is too small. Expe"),
            ),
        ],
    ),
    fault(
        Exporter,
        "alignment",
        "memory planning aligns otherwise",
        &[Plant::Exporter { module: "aligns_coarsely" }],
        &[
            (K::OutputDiffers, "pte-show", SHOW_OUTPUT, Text("memory     arena 0: ")),
            (K::ClaimFails, "copies.unplanned-inputs", DEFAULT_MAIN, Call("copies.unplanned-inputs")),
            (K::ClaimFails, "owners.unload-frees", OWNERS_MAIN, Call("owners.unload-frees")),
            (K::ClaimFails, "planned-output.runtime-buffer", PLANNED_MAIN, Call("planned-output.runtime-buffer")),
            (K::OutcomeDiffers, "choose-a-recipe", CHOOSE_MAIN, Text("assert_eq!(")),
            (K::OutcomeDiffers, "pairing-rule", PAIR_MAIN, Text("planned_bytes[0] - planned_bytes[1] == 512")),
            (K::OutputDiffers, "know-what-you-have", HAVE_OUTPUT, Text("arena 0: 256 bytes on Cuda")),
            (K::ClaimFails, "behaviour.measured-again", "listings/behaviour/main.rs", Call("behaviour.measured-again")),
            (K::ClaimFails, "dynamic.upper-bound", "listings/dynamic-shapes/main.rs", Call("dynamic.upper-bound")),
        ],
    ),
    fault(
        Exporter,
        "one-buffer-more",
        "the planner adds a buffer",
        &[Plant::Exporter { module: "plans_one_buffer_more" }],
        &[
            (K::OutputDiffers, "pte-show", SHOW_OUTPUT, Text("model.pte: 1 method, ")),
            (K::ClaimFails, "caller-output.nothing-planned", CALLER_MAIN, Call("caller-output.nothing-planned")),
            (K::ClaimFails, "owners.unload-frees", OWNERS_MAIN, Call("owners.unload-frees")),
            (K::ClaimFails, "pairing.planned-bytes", PAIR_MAIN, Call("pairing.planned-bytes")),
            (K::ClaimFails, "planned-output.runtime-buffer", PLANNED_MAIN, Call("planned-output.runtime-buffer")),
            (
                K::FactDiffers,
                "choose-a-recipe.device-to-caller-buffer.host_arena",
                OWNERS,
                Text("choose-a-recipe.device-to-caller-buffer.host_arena"),
            ),
            (
                K::FactDiffers,
                "choose-a-recipe.device-to-host.device_arena",
                OWNERS,
                Text("choose-a-recipe.device-to-host.device_arena"),
            ),
            (
                K::FactDiffers,
                "choose-a-recipe.device-to-runtime-buffer.device_arena",
                OWNERS,
                Text("choose-a-recipe.device-to-runtime-buffer.device_arena"),
            ),
            (
                K::FactDiffers,
                "choose-a-recipe.host-to-device.device_arena",
                OWNERS,
                Text("choose-a-recipe.host-to-device.device_arena"),
            ),
            (
                K::FactDiffers,
                "choose-a-recipe.host-to-host.device_arena",
                OWNERS,
                Text("choose-a-recipe.host-to-host.device_arena"),
            ),
            (K::OutputDiffers, "know-what-you-have", HAVE_OUTPUT, Text("this runtime cannot run it: NotFound (0x20)")),
            (K::ClaimFails, "behaviour.measured-again", "listings/behaviour/main.rs", Call("behaviour.measured-again")),
            (K::ClaimFails, "dynamic.upper-bound", "listings/dynamic-shapes/main.rs", Call("dynamic.upper-bound")),
        ],
    ),
    fault(
        Exporter,
        "no-refusal",
        "the exporter refuses no longer",
        &[Plant::Exporter { module: "accepts_a_skip_without_planning" }],
        &[
            (K::OutcomeDiffers, "choose-a-recipe", CHOOSE_MAIN, Line(1)),
            (K::ClaimFails, "behaviour.measured-again", "listings/behaviour/main.rs", Call("behaviour.measured-again")),
        ],
    ),
    fault(
        Exporter,
        "exporter-reworded",
        "the exporter words its refusal otherwise",
        &[Plant::Exporter { module: "rewords_its_refusal" }],
        &[
            (
                K::FactDiffers,
                "choose-a-recipe.no-device-planning.text",
                CHOOSE,
                Text("choose-a-recipe.no-device-planning.text"),
            ),
            (K::ClaimFails, "behaviour.measured-again", "listings/behaviour/main.rs", Call("behaviour.measured-again")),
            (
                K::FactDiffers,
                "choose-a-recipe.no-device-planning.text",
                "src/when-it-fails/errors.md",
                Text("choose-a-recipe.no-device-planning.text"),
            ),
        ],
    ),
    fault(
        Exporter,
        "no-device",
        "the delegate's device is forgotten",
        &[Plant::Exporter { module: "tags_no_device" }],
        &[
            (K::ClaimFails, "check.exit-codes", CHECK_MAIN, Call("check.exit-codes")),
            (K::ClaimFails, "pte.diff", SHOW_MAIN, Call("pte.diff")),
            (K::ClaimFails, "half.host-output-planned", HALF_MAIN, Call("half.host-output-planned")),
            (K::ClaimFails, "install.load-fails", HAVE_MAIN, Call("install.load-fails")),
            (K::ClaimFails, "owners.arena-table-silent", OWNERS_MAIN, Call("owners.arena-table-silent")),
            (K::ClaimFails, "pairing.duplicate", PAIR_MAIN, Call("pairing.duplicate")),
            (
                K::FactDiffers,
                "know-what-you-have.load.allocator_log",
                INSTALL,
                Text("know-what-you-have.load.allocator_log"),
            ),
            (K::OutcomeDiffers, "caller-output", CALLER_MAIN, Line(1)),
            (K::OutcomeDiffers, "choose-a-recipe", CHOOSE_MAIN, Line(1)),
            (K::OutcomeDiffers, "default-copies", DEFAULT_MAIN, Line(1)),
            (K::OutcomeDiffers, "first-device-program", FIRST_MAIN, Line(1)),
            (K::OutcomeDiffers, "planned-output", PLANNED_MAIN, Line(1)),
            (K::FactDiffers, "stand-in.misaligned", STAYS, Text("stand-in.misaligned")),
            (K::FactDiffers, "stand-in.null_output", STAYS, Text("stand-in.null_output")),
            (K::FactDiffers, "stand-in.offset", STAYS, Text("stand-in.offset")),
            (K::FactDiffers, "stand-in.second_device", STAYS, Text("stand-in.second_device")),
            (K::FactDiffers, "stand-in.wrong_side.accept", STAYS, Text("stand-in.wrong_side.accept")),
            (K::FactDiffers, "stand-in.wrong_side.refuse", STAYS, Text("stand-in.wrong_side.refuse")),
            (K::OutcomeDiffers, "stand-in", STAND_IN_MAIN, Line(1)),
            (K::ClaimFails, "behaviour.measured-again", "listings/behaviour/main.rs", Call("behaviour.measured-again")),
            (K::ClaimFails, "errors.process-lives", "listings/errors/main.rs", Call("errors.process-lives")),
            (K::FactDiffers, "errors.cut.log", "src/when-it-fails/errors.md", Text("errors.cut.log")),
            (
                K::FactDiffers,
                "know-what-you-have.load.allocator_log",
                "src/when-it-fails/errors.md",
                Text("know-what-you-have.load.allocator_log"),
            ),
            (K::OutcomeDiffers, "dynamic-shapes", "listings/dynamic-shapes/main.rs", Line(1)),
        ],
    ),
    fault(
        Exporter,
        "eager-wrong",
        "what eager PyTorch computes is recorded wrongly",
        &[Plant::Exporter { module: "records_eager_wrongly" }],
        &[
            (K::ClaimFails, "check.runs", CHECK_MAIN, Call("check.runs")),
            (K::ClaimFails, "caller-output.stays-set", CALLER_MAIN, Call("caller-output.stays-set")),
            (K::ClaimFails, "copies.exact", DEFAULT_MAIN, Call("copies.exact")),
            (K::ClaimFails, "first.same-bits", FIRST_MAIN, Call("first.same-bits")),
            (K::ClaimFails, "half.fixed", HALF_MAIN, Call("half.fixed")),
            (K::ClaimFails, "pairing.exact", PAIR_MAIN, Call("pairing.exact")),
            (K::ClaimFails, "planned-output.keep", PLANNED_MAIN, Call("planned-output.keep")),
            (
                K::ClaimFails,
                "recipes.host-inputs-may-be-unplanned",
                CHOOSE_MAIN,
                Call("recipes.host-inputs-may-be-unplanned"),
            ),
            (K::FactDiffers, "first-device-program.default.line", FIRST, Text("first-device-program.default.line")),
            (K::FactDiffers, "first-device-program.device.line", FIRST, Text("first-device-program.device.line")),
            (K::FactDiffers, "stand-in.offset", STAYS, Text("stand-in.offset")),
            (K::FactDiffers, "stand-in.second_device", STAYS, Text("stand-in.second_device")),
            (K::FactDiffers, "stand-in.wrong_side.accept", STAYS, Text("stand-in.wrong_side.accept")),
            (K::OutputDiffers, "stand-in", STAND_IN_OUTPUT, Text("a pointer 4 bytes into a block")),
            (K::ClaimFails, "behaviour.measured-again", "listings/behaviour/main.rs", Call("behaviour.measured-again")),
        ],
    ),
    // The runtime.
    fault(
        Runtime,
        "refusal-reworded",
        "the runtime words its refusal of a planned input otherwise",
        &[Plant::Runtime {
            from: "Planned-buffer copy needs host memory",
            to: "Planned-buffer copy wants host memory",
        }],
        &[
            (K::ClaimFails, "check.foretold", CHECK_MAIN, Call("check.foretold")),
            (K::FactDiffers, "pairing-rule.unpaired.device_log", PAIR, Text("pairing-rule.unpaired.device_log")),
            (K::OutputDiffers, "pairing-rule", PAIR_OUTPUT, Text("unpaired: NotSupported (0x10): Planned-buffer copy")),
            (K::ClaimFails, "behaviour.measured-again", "listings/behaviour/main.rs", Call("behaviour.measured-again")),
            (
                K::FactDiffers,
                "pairing-rule.unpaired.device_log",
                "src/when-it-fails/errors.md",
                Text("pairing-rule.unpaired.device_log"),
            ),
            (K::ClaimFails, "bite.measured-again", "listings/models-that-bite/main.rs", Call("bite.measured-again")),
            (
                K::FactDiffers,
                "device-in-host-out.mirror.log",
                "src/recipes/device-in-host-out.md",
                Text("device-in-host-out.mirror.log"),
            ),
            (
                K::FactDiffers,
                "mixed-models.guarded.text",
                "src/recipes/mixed-models.md",
                Text("mixed-models.guarded.text"),
            ),
        ],
    ),
    fault(
        Runtime,
        "set-output-reworded",
        "the runtime words its refusal of `set_output` otherwise",
        &[Plant::Runtime {
            from: "Cannot override the existing data pointer.",
            to: "Cannot overrule the existing data pointer.",
        }],
        &[
            (K::FactDiffers, "caller-output.planned.log", CALLER, Text("caller-output.planned.log")),
            (K::FactDiffers, "half-a-pair.set_output.log", HALF, Text("half-a-pair.set_output.log")),
            (K::FactDiffers, "planned-output.set_output.log", PLANNED, Text("planned-output.set_output.log")),
            (
                K::OutputDiffers,
                "caller-output",
                CALLER_OUTPUT,
                Text("planned output: InvalidState (0x2): Output 0 is me"),
            ),
            (K::ClaimFails, "behaviour.measured-again", "listings/behaviour/main.rs", Call("behaviour.measured-again")),
            (
                K::FactDiffers,
                "caller-output.planned.log",
                "src/when-it-fails/errors.md",
                Text("caller-output.planned.log"),
            ),
        ],
    ),
    fault(
        Runtime,
        "backend-reworded",
        "the runtime words the lack of a delegate otherwise",
        &[Plant::Runtime { from: "Backend %s is not registered.", to: "Backend %s is not recognised." }],
        &[
            (
                K::FactDiffers,
                "know-what-you-have.load.delegate_log",
                INSTALL,
                Text("know-what-you-have.load.delegate_log"),
            ),
            (
                K::FactDiffers,
                "know-what-you-have.load.delegate_log",
                "src/when-it-fails/errors.md",
                Text("know-what-you-have.load.delegate_log"),
            ),
            (K::FactDiffers, "know-what-you-have.load.delegate_log", PTE, Text("know-what-you-have.load.delegate_log")),
        ],
    ),
    // The device. Of its faults the book has no statement about one: the wording of our own delegate.
    fault(
        Device,
        "synchronize-deleted",
        "a listing forgets to synchronise",
        &[Replace {
            file: PLANNED_MAIN,
            from: "    gpu.synchronize()?;\n    let first = address(&outputs[0]);\n",
            to: "    let first = address(&outputs[0]);\n",
        }],
        &[(K::ClaimFails, "planned-output.keep", PLANNED_MAIN, Call("planned-output.keep"))],
    ),
    fault(
        Device,
        "wrong-result",
        "the delegate computes wrongly",
        &[Plant::Device { fault: "wrong-result" }],
        &[
            (K::ClaimFails, "check.runs", CHECK_MAIN, Call("check.runs")),
            (K::ClaimFails, "caller-output.stays-set", CALLER_MAIN, Call("caller-output.stays-set")),
            (K::ClaimFails, "copies.exact", DEFAULT_MAIN, Call("copies.exact")),
            (K::ClaimFails, "first.same-bits", FIRST_MAIN, Call("first.same-bits")),
            (K::ClaimFails, "half.fixed", HALF_MAIN, Call("half.fixed")),
            (K::ClaimFails, "pairing.exact", PAIR_MAIN, Call("pairing.exact")),
            (K::ClaimFails, "planned-output.reused", PLANNED_MAIN, Call("planned-output.reused")),
            (
                K::ClaimFails,
                "recipes.host-inputs-may-be-unplanned",
                CHOOSE_MAIN,
                Call("recipes.host-inputs-may-be-unplanned"),
            ),
            (K::FactDiffers, "first-device-program.default.line", FIRST, Text("first-device-program.default.line")),
            (K::FactDiffers, "first-device-program.device.line", FIRST, Text("first-device-program.device.line")),
            (K::OutcomeDiffers, "who-owns-the-memory", OWNERS_MAIN, Line(1)),
            (K::FactDiffers, "stand-in.offset", STAYS, Text("stand-in.offset")),
            (K::FactDiffers, "stand-in.second_device", STAYS, Text("stand-in.second_device")),
            (K::FactDiffers, "stand-in.wrong_side.accept", STAYS, Text("stand-in.wrong_side.accept")),
            (K::OutputDiffers, "stand-in", STAND_IN_OUTPUT, Text("a pointer 4 bytes into a block")),
            (K::ClaimFails, "dynamic.right", "listings/dynamic-shapes/main.rs", Call("dynamic.right")),
            (K::ClaimFails, "behaviour.measured-again", "listings/behaviour/main.rs", Call("behaviour.measured-again")),
        ],
    ),
    fault(
        Device,
        "wrong-pointer",
        "the delegate writes elsewhere than it was told",
        &[Plant::Device { fault: "wrong-pointer" }],
        &[
            (K::ClaimFails, "check.runs", CHECK_MAIN, Call("check.runs")),
            (K::ClaimFails, "caller-output.stays-set", CALLER_MAIN, Call("caller-output.stays-set")),
            (K::ClaimFails, "copies.exact", DEFAULT_MAIN, Call("copies.exact")),
            (K::ClaimFails, "first.same-bits", FIRST_MAIN, Call("first.same-bits")),
            (K::ClaimFails, "half.fixed", HALF_MAIN, Call("half.fixed")),
            (K::ClaimFails, "pairing.exact", PAIR_MAIN, Call("pairing.exact")),
            (K::ClaimFails, "planned-output.runtime-buffer", PLANNED_MAIN, Call("planned-output.runtime-buffer")),
            (
                K::ClaimFails,
                "recipes.host-inputs-may-be-unplanned",
                CHOOSE_MAIN,
                Call("recipes.host-inputs-may-be-unplanned"),
            ),
            (K::FactDiffers, "first-device-program.default.line", FIRST, Text("first-device-program.default.line")),
            (K::FactDiffers, "first-device-program.device.line", FIRST, Text("first-device-program.device.line")),
            (K::OutcomeDiffers, "who-owns-the-memory", OWNERS_MAIN, Line(1)),
            (K::FactDiffers, "stand-in.offset", STAYS, Text("stand-in.offset")),
            (K::FactDiffers, "stand-in.second_device", STAYS, Text("stand-in.second_device")),
            (K::FactDiffers, "stand-in.wrong_side.accept", STAYS, Text("stand-in.wrong_side.accept")),
            (K::OutputDiffers, "stand-in", STAND_IN_OUTPUT, Text("a pointer 4 bytes into a block")),
            (K::ClaimFails, "dynamic.right", "listings/dynamic-shapes/main.rs", Call("dynamic.right")),
            (K::ClaimFails, "behaviour.measured-again", "listings/behaviour/main.rs", Call("behaviour.measured-again")),
        ],
    ),
    fault(
        Device,
        "never-runs",
        "queued work is dropped",
        &[Plant::Device { fault: "never-runs" }],
        &[
            (K::ClaimFails, "check.runs", CHECK_MAIN, Call("check.runs")),
            (K::ClaimFails, "caller-output.stays-set", CALLER_MAIN, Call("caller-output.stays-set")),
            (K::ClaimFails, "copies.exact", DEFAULT_MAIN, Call("copies.exact")),
            (K::ClaimFails, "first.same-bits", FIRST_MAIN, Call("first.same-bits")),
            (K::ClaimFails, "half.fixed", HALF_MAIN, Call("half.fixed")),
            (K::ClaimFails, "pairing.exact", PAIR_MAIN, Call("pairing.exact")),
            (K::ClaimFails, "planned-output.reused", PLANNED_MAIN, Call("planned-output.reused")),
            (
                K::ClaimFails,
                "recipes.host-inputs-may-be-unplanned",
                CHOOSE_MAIN,
                Call("recipes.host-inputs-may-be-unplanned"),
            ),
            (K::FactDiffers, "first-device-program.default.line", FIRST, Text("first-device-program.default.line")),
            (K::FactDiffers, "first-device-program.device.line", FIRST, Text("first-device-program.device.line")),
            (K::OutcomeDiffers, "who-owns-the-memory", OWNERS_MAIN, Line(1)),
            (K::FactDiffers, "stand-in.offset", STAYS, Text("stand-in.offset")),
            (K::FactDiffers, "stand-in.second_device", STAYS, Text("stand-in.second_device")),
            (K::FactDiffers, "stand-in.wrong_side.accept", STAYS, Text("stand-in.wrong_side.accept")),
            (K::OutputDiffers, "stand-in", STAND_IN_OUTPUT, Text("a pointer 4 bytes into a block")),
            (K::ClaimFails, "dynamic.right", "listings/dynamic-shapes/main.rs", Call("dynamic.right")),
            (K::ClaimFails, "behaviour.measured-again", "listings/behaviour/main.rs", Call("behaviour.measured-again")),
        ],
    ),
    fault(
        Device,
        "eager-delegate",
        "work is not queued",
        &[Plant::Device { fault: "eager" }],
        &[
            (K::ClaimFails, "planned-output.queued", PLANNED_MAIN, Call("planned-output.queued")),
            (K::FactDiffers, "stand-in.early", STAYS, Text("stand-in.early")),
            (K::OutputDiffers, "stand-in", STAND_IN_OUTPUT, Text("a second result, read before the synchronise")),
        ],
    ),
    fault(
        Device,
        "stale-copy",
        "the runtime's copies do not wait for queued work",
        &[Plant::Device { fault: "stale-copy" }],
        &[
            (K::ClaimFails, "check.runs", CHECK_MAIN, Call("check.runs")),
            (K::ClaimFails, "copies.exact", DEFAULT_MAIN, Call("copies.exact")),
            (K::ClaimFails, "first.same-bits", FIRST_MAIN, Call("first.same-bits")),
            (K::ClaimFails, "half.fixed", HALF_MAIN, Call("half.fixed")),
            (
                K::ClaimFails,
                "recipes.host-inputs-may-be-unplanned",
                CHOOSE_MAIN,
                Call("recipes.host-inputs-may-be-unplanned"),
            ),
            (K::FactDiffers, "first-device-program.default.line", FIRST, Text("first-device-program.default.line")),
            (K::OutcomeDiffers, "who-owns-the-memory", OWNERS_MAIN, Line(1)),
            (K::FactDiffers, "stand-in.wrong_side.accept", STAYS, Text("stand-in.wrong_side.accept")),
            (K::OutputDiffers, "stand-in", STAND_IN_OUTPUT, Text("a copy from the wrong side, policy `accept`")),
            (K::ClaimFails, "behaviour.measured-again", "listings/behaviour/main.rs", Call("behaviour.measured-again")),
        ],
    ),
    fault(
        Device,
        "extra-copies",
        "every execution copies its inputs to the host and back",
        &[Plant::Device { fault: "copies-on-execute" }],
        &[
            (K::ClaimFails, "copies.default", DEFAULT_MAIN, Call("copies.default")),
            (K::ClaimFails, "first.default-copies", FIRST_MAIN, Call("first.default-copies")),
            (K::ClaimFails, "half.fixed", HALF_MAIN, Call("half.fixed")),
            (K::ClaimFails, "pairing.no-copies", PAIR_MAIN, Call("pairing.no-copies")),
            (
                K::FactDiffers,
                "choose-a-recipe.device-to-caller-buffer.copies",
                INDEX,
                Text("choose-a-recipe.device-to-caller-buffer.copies"),
            ),
            (
                K::FactDiffers,
                "choose-a-recipe.device-to-host.copies",
                INDEX,
                Text("choose-a-recipe.device-to-host.copies"),
            ),
            (
                K::FactDiffers,
                "choose-a-recipe.device-to-runtime-buffer.copies",
                INDEX,
                Text("choose-a-recipe.device-to-runtime-buffer.copies"),
            ),
            (
                K::FactDiffers,
                "choose-a-recipe.host-to-device.copies",
                INDEX,
                Text("choose-a-recipe.host-to-device.copies"),
            ),
            (K::FactDiffers, "choose-a-recipe.host-to-host.copies", INDEX, Text("choose-a-recipe.host-to-host.copies")),
            (
                K::FactDiffers,
                "choose-a-recipe.host-to-host.copies",
                CHOOSE,
                Text("choose-a-recipe.host-to-host.copies"),
            ),
            (K::FactDiffers, "first-device-program.default.line", FIRST, Text("first-device-program.default.line")),
            (
                K::OutputDiffers,
                "choose-a-recipe",
                CHOOSE_OUTPUT,
                Text("host-to-host              2 copies in, 1 out, equa"),
            ),
            (K::ClaimFails, "behaviour.measured-again", "listings/behaviour/main.rs", Call("behaviour.measured-again")),
        ],
    ),
    fault(
        Device,
        "unchecked",
        "the delegate does not check where a pointer lies",
        &[Plant::Device { fault: "unchecked" }],
        &[
            (K::ClaimFails, "caller-output.host-refused", CALLER_MAIN, Call("caller-output.host-refused")),
            (K::FactDiffers, "stand-in.freed", STAYS, Text("stand-in.freed")),
            (K::FactDiffers, "stand-in.host", STAYS, Text("stand-in.host")),
            (K::OutputDiffers, "stand-in", STAND_IN_OUTPUT, Text("a freed pointer")),
            (K::ClaimFails, "behaviour.measured-again", "listings/behaviour/main.rs", Call("behaviour.measured-again")),
        ],
    ),
    fault(
        Device,
        "unfenced",
        "the host can read and write device memory",
        &[Plant::Device { fault: "unfenced" }],
        &[
            (K::ClaimFails, "memcpy.crash", MEMCPY_MAIN, Call("memcpy.crash")),
            (K::ClaimFails, "behaviour.measured-again", "listings/behaviour/main.rs", Call("behaviour.measured-again")),
        ],
    ),
    fault(
        Device,
        "leak",
        "freed blocks stay allocated",
        &[Plant::Device { fault: "leak" }],
        &[
            (K::OutcomeDiffers, "check-a-pte", CHECK_MAIN, Line(1)),
            (K::ClaimFails, "owners.unload-frees", OWNERS_MAIN, Call("owners.unload-frees")),
            (K::OutcomeDiffers, "caller-output", CALLER_MAIN, Line(1)),
            (K::OutcomeDiffers, "choose-a-recipe", CHOOSE_MAIN, Line(1)),
            (K::OutcomeDiffers, "default-copies", DEFAULT_MAIN, Line(1)),
            (K::OutcomeDiffers, "first-device-program", FIRST_MAIN, Line(1)),
            (K::OutcomeDiffers, "half-a-pair", HALF_MAIN, Line(1)),
            (K::OutcomeDiffers, "host-memcpy", MEMCPY_MAIN, Line(1)),
            (K::OutcomeDiffers, "pairing-rule", PAIR_MAIN, Line(1)),
            (K::OutcomeDiffers, "planned-output", PLANNED_MAIN, Line(1)),
            (K::FactDiffers, "stand-in.freed", STAYS, Text("stand-in.freed")),
            (K::OutcomeDiffers, "stand-in", STAND_IN_MAIN, Line(1)),
            (K::OutcomeDiffers, "dynamic-shapes", "listings/dynamic-shapes/main.rs", Line(1)),
            (K::OutcomeDiffers, "errors", "listings/errors/main.rs", Line(1)),
        ],
    ),
    fault(
        Device,
        "miscounts",
        "copies are counted in the wrong direction",
        &[Plant::Device { fault: "miscounts" }],
        &[
            (K::ClaimFails, "copies.default", DEFAULT_MAIN, Call("copies.default")),
            (K::ClaimFails, "half.fixed", HALF_MAIN, Call("half.fixed")),
            (
                K::FactDiffers,
                "choose-a-recipe.device-to-host.copies",
                INDEX,
                Text("choose-a-recipe.device-to-host.copies"),
            ),
            (
                K::FactDiffers,
                "choose-a-recipe.host-to-device.copies",
                INDEX,
                Text("choose-a-recipe.host-to-device.copies"),
            ),
            (K::FactDiffers, "choose-a-recipe.host-to-host.copies", INDEX, Text("choose-a-recipe.host-to-host.copies")),
            (
                K::FactDiffers,
                "choose-a-recipe.host-to-host.copies",
                CHOOSE,
                Text("choose-a-recipe.host-to-host.copies"),
            ),
            (K::FactDiffers, "first-device-program.default.line", FIRST, Text("first-device-program.default.line")),
            (
                K::OutputDiffers,
                "choose-a-recipe",
                CHOOSE_OUTPUT,
                Text("host-to-host              2 copies in, 1 out, equa"),
            ),
            (
                K::OutputDiffers,
                "first-device-program",
                FIRST_OUTPUT,
                Text("host → host: 1 copy in (64 bytes), 1 copy out (32 "),
            ),
            (K::ClaimFails, "behaviour.measured-again", "listings/behaviour/main.rs", Call("behaviour.measured-again")),
        ],
    ),
    fault(
        Device,
        "drains-on-read",
        "a read waits for queued work",
        &[Plant::Device { fault: "drains-on-read" }],
        &[
            (K::ClaimFails, "planned-output.queued", PLANNED_MAIN, Call("planned-output.queued")),
            (K::FactDiffers, "stand-in.early", STAYS, Text("stand-in.early")),
            (K::OutputDiffers, "stand-in", STAND_IN_OUTPUT, Text("a second result, read before the synchronise")),
        ],
    ),
    fault(
        Device,
        "no-poison",
        "a result that is not ready shows the old bytes",
        &[Plant::Device { fault: "no-poison" }],
        &[
            (K::FactDiffers, "stand-in.early", STAYS, Text("stand-in.early")),
            (K::OutputDiffers, "stand-in", STAND_IN_OUTPUT, Text("a second result, read before the synchronise")),
        ],
    ),
    fault(
        Device,
        "wrong-side",
        "a copy takes a pointer on the wrong side, whatever the policy says",
        &[Plant::Device { fault: "wrong-side" }],
        &[
            (K::FactDiffers, "stand-in.wrong_side.refuse", STAYS, Text("stand-in.wrong_side.refuse")),
            (K::OutputDiffers, "stand-in", STAND_IN_OUTPUT, Text("a copy from the wrong side, policy `refuse`")),
            (K::ClaimFails, "behaviour.measured-again", "listings/behaviour/main.rs", Call("behaviour.measured-again")),
        ],
    ),
    // The build itself.
    fault(
        Build,
        "preprocessor-unlisted",
        "book.toml no longer names the preprocessor",
        &[Replace {
            file: "book.toml",
            from: concat!("[preprocessor.guide]\ncommand = \".venv/tools/bin/guide-book\"\n", "before = [\"links\"]\n"),
            to: "",
        }],
        &[],
    )
    .unproved(),
    fault(Build, "preprocessor-missing", "the preprocessor is not installed", &[Remove { file: GUIDE_BOOK }], &[])
        .says("guide-book"),
    fault(
        Build,
        "preprocessor-broken",
        "the preprocessor fails without a word",
        &[Script { file: GUIDE_BOOK, text: "[ \"$1\" = supports ] || exit 1" }],
        &[],
    )
    .says("\"guide\" preprocessor"),
    fault(
        Build,
        "preprocessor-refuses",
        "the preprocessor says that it does not support HTML",
        &[Script { file: GUIDE_BOOK, text: "exit 1" }],
        &[],
    )
    .unproved(),
    fault(
        Build,
        "preprocessor-idle",
        "the preprocessor hands every page on as it is",
        &[Script {
            file: GUIDE_BOOK,
            text: concat!(
                "[ \"$1\" = supports ] || exec .venv/bin/python -c '",
                "import json, sys; json.dump(json.load(sys.stdin)[1], sys.stdout)'"
            ),
        }],
        &[],
    )
    .unproved(),
    fault(
        Build,
        "preprocessor-stale",
        "the preprocessor was built from other sources",
        &[Replace { file: "crates/book/src/lib.rs", from: "mod bless;\n", to: "mod bless;\n\n" }],
        &[(K::StalePreprocessor, "guide-book", "crates/book", Line(1))],
    ),
    fault(
        Build,
        "key-misspelt",
        "a misspelt key, which mdBook answers with its defaults",
        &[Replace { file: "book.toml", from: "no-section-label", to: "no-section-labels" }],
        &[(K::ConfigKey, "no-section-labels", "book.toml", Text("no-section-labels"))],
    ),
    fault(
        Build,
        "missing-pages-made",
        "mdBook is told to make missing pages",
        &[Replace { file: "book.toml", from: "create-missing = false", to: "create-missing = true" }],
        &[(K::ConfigValue, "create-missing", "book.toml", Text("create-missing"))],
    ),
    fault(
        Build,
        "playground",
        "code blocks ask somebody else's server",
        &[Replace { file: "book.toml", from: "playground.runnable = false", to: "playground.runnable = true" }],
        &[(K::ConfigValue, "runnable", "book.toml", Text("playground.runnable"))],
    ),
    fault(
        Build,
        "page-file-missing",
        "SUMMARY.md names a page that has no file",
        &[Replace { file: "src/SUMMARY.md", from: "# Why\n", to: "# Why\n\n- [Notes](why/notes.md)" }],
        &[],
    )
    .says("notes.md"),
];

/// The table itself: names once each, and no row that declares nothing.
pub fn check() -> Result<(), String> {
    let mut names = BTreeSet::new();
    for fault in FAULTS {
        if !names.insert(fault.name) {
            return Err(format!("two faults are called `{}`", fault.name));
        }
        if fault.plant.is_empty() || fault.failures.is_empty() && fault.says.is_none() && !fault.unproved {
            return Err(format!("`{}` plants nothing, or declares no failure", fault.name));
        }
    }
    Ok(())
}
