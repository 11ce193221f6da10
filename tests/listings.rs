//! One test a listing: it runs, asserts what it claims, and prints what `output.txt` says.

macro_rules! listings {
    ($($test:ident: $name:literal,)*) => {
        $(
            #[test]
            fn $test() {
                prove($name, env!(concat!("CARGO_BIN_EXE_", $name)));
            }
        )*

        #[test]
        fn every_listing_has_a_test() {
            let tested = [$($name),*];
            let folder = concat!(env!("CARGO_MANIFEST_DIR"));
            for entry in std::fs::read_dir(folder).expect("the listings") {
                let entry = entry.expect("a readable folder");
                let name = entry.file_name().into_string().expect("a name in UTF-8");
                let is_listing = entry.path().join("main.rs").exists();
                assert!(!is_listing || tested.contains(&name.as_str()), "{name} has no test in tests/listings.rs");
            }
        }
    };
}

listings! {
    behaviour: "behaviour",
    caller_output: "caller-output",
    callers: "callers",
    check_a_pte: "check-a-pte",
    choose_a_recipe: "choose-a-recipe",
    configuration: "configuration",
    default_copies: "default-copies",
    device_in_host_out: "device-in-host-out",
    dynamic_shapes: "dynamic-shapes",
    errors: "errors",
    first_device_program: "first-device-program",
    half_a_pair: "half-a-pair",
    hand_over_your_own_memory: "hand-over-your-own-memory",
    host_memcpy: "host-memcpy",
    know_what_you_have: "know-what-you-have",
    load_the_weights: "load-the-weights",
    mixed_models: "mixed-models",
    models_that_bite: "models-that-bite",
    pairing_rule: "pairing-rule",
    planned_output: "planned-output",
    pte_help: "pte-help",
    pte_rules: "pte-rules",
    pte_show: "pte-show",
    releases: "releases",
    several_methods: "several-methods",
    see_the_reason: "see-the-reason",
    stand_in: "stand-in",
    upstream_exporters: "upstream-exporters",
    what_is_not_checked: "what-is-not-checked",
    when_a_result_is_ready: "when-a-result-is-ready",
    where_published_guidance_differs: "where-published-guidance-differs",
    who_owns_the_memory: "who-owns-the-memory",
}

fn prove(name: &str, exe: &str) {
    if let Err(failures) = book::prove_listing(name, exe.as_ref()) {
        panic!("{failures}");
    }
}
