//! Names for inputs and outputs, out of the pytree that the exporter leaves in the file.
//!
//! A `.pte` does not name its inputs. It does hold how PyTorch flattened the call's arguments and results
//! (`ContainerMetadata`), and with it the keys of keyword arguments and of dictionaries.

use serde::Deserialize;

/// Longer descriptions name nothing: nobody reads them, and a hostile file could ask for much memory with one.
const LONGEST_SPEC: usize = 1 << 20;
const LONGEST_NAME: usize = 256;

/// One node of `torch.utils._pytree.treespec_dumps`; a leaf has no type.
#[derive(Deserialize)]
struct Node {
    #[serde(rename = "type")]
    kind: Option<String>,
    context: Option<String>,
    children_spec: Vec<Node>,
}

impl Node {
    /// The dictionary keys of this node's children.
    fn keys(&self) -> Option<Vec<String>> {
        match self.kind.as_deref()? {
            "builtins.dict" | "collections.OrderedDict" => {
                let keys: Vec<String> = serde_json::from_str(self.context.as_deref()?).ok()?;
                (keys.len() == self.children_spec.len()).then_some(keys)
            }
            _ => None,
        }
    }
}

/// The names of a method's inputs by position, from `encoded_inp_str`: a keyword argument by its keyword, an entry of a
/// dictionary by position and key (`0.mask`), anything else `None`. Empty unless the description has `count` leaves.
pub(crate) fn of_inputs(spec: &str, count: usize) -> Vec<Option<String>> {
    let Some(root) = parse(spec) else {
        return Vec::new();
    };
    let mut walk = Walk::new(count);
    match root.children_spec.as_slice() {
        // A call: (positional arguments, keyword arguments).
        [args, kwargs] if root.kind.as_deref() == Some("builtins.tuple") => {
            walk.children(args, None);
            walk.children(kwargs, None);
        }
        _ => walk.children(&root, None),
    }
    walk.finish()
}

/// The names of a method's outputs by position, from `encoded_out_str`, as [`of_inputs`].
pub(crate) fn of_outputs(spec: &str, count: usize) -> Vec<Option<String>> {
    let Some(root) = parse(spec) else {
        return Vec::new();
    };
    let mut walk = Walk::new(count);
    walk.node(&root, None);
    walk.finish()
}

/// The description is `[version, node]`.
fn parse(spec: &str) -> Option<Node> {
    if spec.len() > LONGEST_SPEC {
        return None;
    }
    serde_json::from_str::<(u32, Node)>(spec)
        .ok()
        .map(|(_, root)| root)
}

/// The leaves so far, of the `count` there must be.
struct Walk {
    count: usize,
    names: Vec<Option<String>>,
}

/// The way to a node: its words, and whether one of them is a key (positions alone make no name).
#[derive(Clone)]
struct Path {
    text: String,
    keyed: bool,
}

impl Walk {
    fn new(count: usize) -> Self {
        Self {
            count,
            names: Vec::new(),
        }
    }

    fn node(&mut self, node: &Node, path: Option<&Path>) {
        if self.names.len() > self.count {
            return;
        }
        if node.kind.is_none() {
            self.names.push(
                path.filter(|p| p.keyed && p.text.len() <= LONGEST_NAME)
                    .map(|p| p.text.clone()),
            );
        } else {
            self.children(node, path);
        }
    }

    fn children(&mut self, node: &Node, path: Option<&Path>) {
        let keys = node.keys();
        for (position, child) in node.children_spec.iter().enumerate() {
            if self.names.len() > self.count {
                return;
            }
            let word = keys
                .as_ref()
                .map_or_else(|| position.to_string(), |keys| keys[position].clone());
            let path = match path {
                // Too long already: it names nothing, and must not grow with the depth.
                Some(path) if path.text.len() > LONGEST_NAME => path.clone(),
                Some(path) => Path {
                    text: format!("{}.{word}", path.text),
                    keyed: path.keyed || keys.is_some(),
                },
                None => Path {
                    text: word,
                    keyed: keys.is_some(),
                },
            };
            self.node(child, Some(&path));
        }
    }

    fn finish(self) -> Vec<Option<String>> {
        if self.names.len() == self.count {
            self.names
        } else {
            Vec::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAF: &str = r#"{"type": null, "context": null, "children_spec": []}"#;

    fn dict(context: &str, children: &str) -> String {
        format!(
            r#"{{"type": "builtins.dict", "context": {context:?}, "children_spec": [{children}]}}"#
        )
    }

    fn tuple(children: &str) -> String {
        format!(r#"{{"type": "builtins.tuple", "context": "null", "children_spec": [{children}]}}"#)
    }

    #[test]
    fn keywords_and_dictionary_keys_name_inputs_and_positions_do_not() {
        let args = tuple(&format!(
            "{LEAF}, {}",
            dict(r#"["x", "y"]"#, &format!("{LEAF}, {LEAF}"))
        ));
        let kwargs = dict(r#"["mask"]"#, LEAF);
        let spec = format!("[1, {}]", tuple(&format!("{args}, {kwargs}")));
        assert_eq!(
            of_inputs(&spec, 4),
            [
                None,
                Some("1.x".into()),
                Some("1.y".into()),
                Some("mask".into())
            ]
        );
    }

    #[test]
    fn a_single_output_has_no_name_and_a_dictionary_of_them_does() {
        assert_eq!(of_outputs(&format!("[1, {LEAF}]"), 1), [None]);
        assert_eq!(
            of_outputs(&format!("[1, {}]", dict(r#"["sum"]"#, LEAF)), 1),
            [Some("sum".into())]
        );
    }

    #[test]
    fn a_description_of_another_number_of_leaves_or_no_description_names_nothing() {
        let spec = format!("[1, {}]", dict(r#"["sum"]"#, LEAF));
        assert!(of_outputs(&spec, 2).is_empty());
        assert!(of_outputs("", 1).is_empty());
        assert!(of_outputs("[1, {}]", 1).is_empty());
        assert!(of_outputs(&format!("[1, {}]", dict(r#"["a", "b"]"#, LEAF)), 1) == [None]);
    }

    #[test]
    fn a_deep_description_is_refused_and_not_recursed_into() {
        let deep = format!(
            "[1, {}{}]",
            r#"{"type": "t", "context": null, "children_spec": ["#.repeat(5000),
            "]}".repeat(5000)
        );
        assert!(of_outputs(&deep, 1).is_empty());
    }
}
