//! Data files, and whether they hold what a program asks for.

use std::path::PathBuf;

use pte::{DType, DataFile, Error, Found};

use crate::programs::one;

/// The data file of this program.
fn path(program: &str, name: &str) -> PathBuf {
    one(program).path.with_extension("").join(name)
}

#[test]
fn a_data_file_holds_what_its_program_asks_for() {
    for (name, file) in [
        ("mlp", "aoti_cuda_blob.ptd"),
        ("external_constants", "_default_external_constant.ptd"),
    ] {
        let program = one(name).program();
        let data = DataFile::open(path(name, file)).unwrap();
        let keys = program.external_keys(&program.methods[0]);
        assert!(!keys.is_empty());
        assert!(
            keys.iter().all(|key| data.entry(key).is_some()),
            "{keys:?} in {data:?}"
        );
        assert_eq!(data.entries.len(), keys.len());
        assert_eq!(
            data.file_bytes,
            std::fs::metadata(path(name, file)).unwrap().len()
        );
    }
}

#[test]
fn a_tensor_in_a_data_file_is_described_as_the_program_describes_it() {
    let program = one("external_constants").program();
    let data =
        DataFile::open(path("external_constants", "_default_external_constant.ptd")).unwrap();
    for constant in &program.methods[0].constants {
        let entry = data.entry(constant.name.as_ref().unwrap()).unwrap();
        let tensor = entry.tensor.as_ref().unwrap();
        assert_eq!(entry.nbytes, constant.nbytes);
        assert_eq!(
            (tensor.dtype, &tensor.sizes, &tensor.dim_order),
            (constant.dtype, &constant.sizes, &constant.dim_order)
        );
    }
    // A blob is no tensor.
    let blob = DataFile::open(path("mlp", "aoti_cuda_blob.ptd")).unwrap();
    assert_eq!(
        (blob.entries[0].tensor.as_ref(), blob.entries[0].nbytes),
        (None, 848)
    );
    assert_eq!(
        data.entry("second.bias")
            .unwrap()
            .tensor
            .as_ref()
            .unwrap()
            .dtype,
        DType::Float32
    );
    let json = serde_json::to_string(&data).unwrap();
    assert_eq!(serde_json::from_str::<DataFile>(&json).unwrap(), data);
}

#[test]
fn a_damaged_data_file_is_an_error_or_a_right_answer() {
    for (name, file) in [
        ("mlp", "aoti_cuda_blob.ptd"),
        ("external_constants", "_default_external_constant.ptd"),
    ] {
        let bytes = std::fs::read(path(name, file)).unwrap();
        let whole = DataFile::from_bytes(&bytes).unwrap();
        for end in 0..bytes.len() {
            let error = DataFile::from_bytes(&bytes[..end]).unwrap_err().to_string();
            assert!(!error.contains(char::is_control), "{error:?}");
        }
        let mut answers = 0;
        for at in 0..bytes.len() {
            for flip in [0xFF, 0x01, 0x80] {
                let mut damaged = bytes.clone();
                damaged[at] ^= flip;
                match DataFile::from_bytes(&damaged) {
                    Ok(read) => answers += usize::from(read.entries == whole.entries),
                    Err(error) => assert!(!error.to_string().contains(char::is_control), "{error}"),
                }
            }
        }
        assert!(answers > 100, "{answers}");
        assert_eq!(
            DataFile::from_bytes(&[&bytes[..], &[7; 99]].concat())
                .unwrap()
                .entries,
            whole.entries
        );
    }
}

#[test]
fn what_is_no_data_file_is_named() {
    let found = |bytes: &[u8]| match DataFile::from_bytes(bytes).unwrap_err() {
        Error::NotData(found) => found,
        other => panic!("{other}"),
    };
    assert_eq!(found(&one("mlp").bytes), Found::Program);
    assert_eq!(found(b""), Found::Empty);
    assert_eq!(found(b"PK\x03\x04"), Found::Zip);
    assert_eq!(
        found(b"\0\0\0\0FT01 and no header here, but for enough bytes"),
        Found::Unknown
    );
    let error = DataFile::open(env!("CARGO_TARGET_TMPDIR")).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("is no data file (.ptd): it is not a regular file"),
        "{error}"
    );
}
