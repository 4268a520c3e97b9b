//! Data in other files.
#![allow(unsafe_code)]

use blocktensor_graph::Sizes;
use rten_onnx::onnx::{DataLocation, DataType, StringStringEntryProto, TensorProto};

use crate::support::{Model, run};

fn model(entries: &[(&str, &str)]) -> Model {
    let entry = |(key, value): &(&str, &str)| StringStringEntryProto {
        key: Some(key.to_string()),
        value: Some(value.to_string()),
    };
    let mut model = Model::new().input("x", &[2]).node("Add", &["x", "w"], &["y"]).output("y");
    model.graph.initializer.push(TensorProto {
        name: Some("w".to_string()),
        dims: vec![2],
        data_type: Some(DataType::FLOAT),
        data_location: Some(DataLocation::EXTERNAL),
        external_data: entries.iter().map(entry).collect(),
        ..Default::default()
    });
    model
}

fn read(
    folder: &std::path::Path,
    entries: &[(&str, &str)],
) -> blocktensor_onnx::Result<blocktensor_graph::Graph> {
    let path = folder.join("model.onnx");
    std::fs::write(&path, model(entries).bytes()).expect("a file");
    blocktensor_onnx::from_path(&path)
}

#[test]
fn data_is_read_at_its_offset() {
    let folder = tempfile::tempdir().expect("a folder");
    let data: Vec<u8> = [9f32, 1.0, 2.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    std::fs::write(folder.path().join("w.bin"), data).expect("a file");
    let graph =
        read(folder.path(), &[("location", "w.bin"), ("offset", "4"), ("length", "8")]).expect("a graph");
    let network = graph.with_sizes(&Sizes::new()).expect("a network");
    let x = blocktensor::StridedTensor::from_slice(&[10f32, 20.0], &[2]).expect("a tensor");
    let y = run(&network, &[("x".to_string(), x)].into()).expect("a run");
    assert_eq!(y[0].1.to_vec::<f32>().expect("numbers"), [11.0, 22.0]);
    let path = folder.path().join("model.onnx");
    // SAFETY: the test does not change the file.
    let mapped = unsafe { blocktensor_onnx::Importer::new().map_path(&path) }.expect("a graph");
    let network = mapped.with_sizes(&Sizes::new()).expect("a network");
    let x = blocktensor::StridedTensor::from_slice(&[10f32, 20.0], &[2]).expect("a tensor");
    let y = run(&network, &[("x".to_string(), x)].into()).expect("a run");
    assert_eq!(y[0].1.to_vec::<f32>().expect("numbers"), [11.0, 22.0]);
    std::fs::create_dir(folder.path().join("sub")).expect("a folder");
    // Offset and length are optional; the bytes must be there.
    for (entries, part) in [
        (&[("location", "w.bin"), ("offset", "8")][..], "has 12 bytes"),
        (&[("location", "w.bin"), ("length", "4")], "take 8 bytes"),
        (&[("location", "w.bin"), ("offset", "18446744073709551615")], "has 12 bytes"),
        (&[("location", "w.bin"), ("offset", "-4")], "a number of bytes"),
        (&[("location", "none.bin")], "none.bin"),
        (&[("location", ".")], "no regular file"),
        (&[("location", "./sub/.")], "no regular file"),
        (&[("location", "sub/..")], "no regular file"),
        (&[], "the model's folder"),
        (&[("location", "w.bin"), ("offset", "0"), ("offset", "4")], "two entries `offset`"),
    ] {
        let error = read(folder.path(), entries).expect_err("an error").to_string();
        assert!(error.contains(part), "{error}");
    }
}

/// ONNX states the digest of the whole file, whatever part of it a tensor is.
#[test]
fn a_checksum_is_compared_with_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("w.bin"), [0; 8]).expect("a file");
    let digest = "05fe405753166f125559e7c9ac558654f107c7e9";
    read(folder.path(), &[("location", "w.bin"), ("checksum", digest)]).expect("the digest");
    read(folder.path(), &[("location", "w.bin"), ("checksum", &digest.to_uppercase())]).expect("the digest");
    let other = digest.replace('0', "1");
    for (stated, part) in [
        (
            &other[..],
            "the SHA-1 digest of `w.bin` is 05fe405753166f125559e7c9ac558654f107c7e9; the file is another",
        ),
        ("", "40 hexadecimal digits"),
        ("05fe4057", "checksum `05fe4057`; it is the SHA-1 digest of the file"),
    ] {
        let entries = [("location", "w.bin"), ("checksum", stated)];
        let error = read(folder.path(), &entries).expect_err("an error").to_string();
        assert!(error.contains("`w`") && error.contains(part), "{error}");
    }
    // One of two files: each is compared with its own.
    std::fs::write(folder.path().join("v.bin"), [1; 8]).expect("a file");
    let mut model = model(&[("location", "w.bin"), ("checksum", digest)]);
    let mut second = model.graph.initializer[0].clone();
    second.name = Some("v".to_string());
    second.external_data[0].value = Some("v.bin".to_string());
    model.graph.initializer.push(second);
    let path = folder.path().join("two.onnx");
    std::fs::write(&path, model.bytes()).expect("a file");
    let error = blocktensor_onnx::from_path(&path).expect_err("an error").to_string();
    assert!(error.contains("`v`") && error.contains("`v.bin` is "), "{error}");
}

/// A name is normalised before links are followed.
#[test]
fn a_name_with_parents_may_stay_in_the_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("w.bin"), [0; 8]).expect("a file");
    for location in ["./sub/../w.bin", "a/b/../../w.bin"] {
        read(folder.path(), &[("location", location)]).expect("a graph");
    }
    read(folder.path(), &[("location", "sub/../../w.bin")]).expect_err("it leads out of the folder");
}

/// Hugging Face's cache: the model and its data are links into one folder, which has names of its own for them.
#[test]
fn data_may_be_a_link_into_the_folder_of_the_models_real_file() {
    let cache = tempfile::tempdir().expect("a folder");
    let of = |name: &str| cache.path().join(name);
    for folder in ["blobs", "snapshots", "snapshots/1", "elsewhere", "blobs/below"] {
        std::fs::create_dir(of(folder)).expect("a folder");
    }
    let link = |to: &str, at: &str| std::os::unix::fs::symlink(to, of(at)).expect("a link");
    let bytes = model(&[("location", "model.onnx_data")]).bytes();
    std::fs::write(of("blobs/1a"), &bytes).expect("a file");
    link("../../blobs/1a", "snapshots/1/model.onnx");
    for data in ["blobs/2b", "elsewhere/w.bin", "blobs/below/w.bin"] {
        std::fs::write(of(data), [0; 8]).expect("a file");
    }
    let path = of("snapshots/1/model.onnx");
    link("../../blobs/2b", "snapshots/1/model.onnx_data");
    blocktensor_onnx::from_path(&path).expect("a graph");
    // SAFETY: the test does not change the file.
    unsafe { blocktensor_onnx::Importer::new().map_path(&path) }.expect("a graph");
    // A link to a link that ends there.
    let data = of("snapshots/1/model.onnx_data");
    let replace = |to: &str| {
        std::fs::remove_file(&data).expect("a link");
        std::os::unix::fs::symlink(to, &data).expect("a link");
    };
    link("../blobs/2b", "elsewhere/link");
    replace("../../elsewhere/link");
    blocktensor_onnx::from_path(&path).expect("a graph");
    for other in ["../../elsewhere/w.bin", "../../blobs/below/w.bin"] {
        replace(other);
        let error = blocktensor_onnx::from_path(&path).expect_err("an error").to_string();
        assert!(error.contains("a link to") && error.contains("replace the link"), "{error}");
    }
    // A model that is no link has no other folder.
    replace("../../blobs/2b");
    std::fs::remove_file(&path).expect("a link");
    std::fs::write(&path, &bytes).expect("a file");
    blocktensor_onnx::from_path(&path).expect_err("the model lies in another folder");
}

/// A tensor of 2.4 GB, of whose file the disk has only the last page.
#[test]
fn mapped_data_beyond_two_gigabytes_is_read_only_where_it_is_used() {
    const COUNT: i64 = 600_000_000;
    let folder = tempfile::tempdir().expect("a folder");
    let file = std::fs::File::create(folder.path().join("w.bin")).expect("a file");
    file.set_len(4 * COUNT as u64 + 8).expect("a sparse file");
    let last: Vec<u8> = [5f32, 6.0, 7.0, 8.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    std::os::unix::fs::FileExt::write_all_at(&file, &last, 4 * COUNT as u64 - 8).expect("the last values");
    let offset = (4 * COUNT).to_string();
    let mut model = model(&[("location", "w.bin"), ("offset", &offset)])
        .ints("starts", &[COUNT - 2])
        .ints("ends", &[COUNT])
        .node("Slice", &["large", "starts", "ends"], &["tail"])
        .node("Mul", &["y", "tail"], &["z"])
        .output("z");
    let mut large = model.graph.initializer[0].clone();
    large.name = Some("large".to_string());
    large.dims = vec![COUNT];
    large.external_data.truncate(1);
    model.graph.initializer.push(large);
    let path = folder.path().join("model.onnx");
    std::fs::write(&path, model.bytes()).expect("a file");
    // SAFETY: the test does not change the file.
    let graph = unsafe { blocktensor_onnx::Importer::new().map_path(&path) }.expect("a graph");
    let network = graph.with_sizes(&Sizes::new()).expect("a network");
    let x = blocktensor::StridedTensor::from_slice(&[10f32, 20.0], &[2]).expect("a tensor");
    let results = run(&network, &[("x".to_string(), x)].into()).expect("a run");
    assert_eq!(results[1].1.to_vec::<f32>().expect("numbers"), [17.0 * 5.0, 28.0 * 6.0]);
    // How much of the mapped file was touched. Other tests of this process take memory of their own.
    let maps = std::fs::read_to_string("/proc/self/smaps").expect("the mappings");
    let name = folder.path().join("w.bin").display().to_string();
    let mut lines = maps.lines().skip_while(|line| !line.ends_with(&name));
    let resident = lines.find_map(|line| line.strip_prefix("Rss:")).expect("a mapping of the file");
    let resident: u64 = resident.trim().trim_end_matches(" kB").parse().expect("a number");
    assert!(0 < resident && resident < 1 << 16, "{resident} kB");
    drop(graph);
}

#[test]
fn data_outside_the_folder_is_refused() {
    let outer = tempfile::tempdir().expect("a folder");
    let folder = outer.path().join("model");
    std::fs::create_dir(&folder).expect("a folder");
    std::fs::write(outer.path().join("w.bin"), [0; 8]).expect("a file");
    let absolute = outer.path().join("w.bin");
    std::os::unix::fs::symlink(&absolute, folder.join("link.bin")).expect("a link");
    for location in ["../w.bin", absolute.to_str().expect("a path"), "link.bin", "a/../../w.bin"] {
        let error = read(&folder, &[("location", location)]).expect_err("an error").to_string();
        let remedy = match location {
            "link.bin" => "replace the link by a copy of its target",
            _ => {
                "write the file's place below that folder into the model as its `location`, and move the file there"
            }
        };
        assert!(error.contains("`w`") && error.contains(remedy), "{location}: {error}");
    }
    let error = read(&folder, &[("location", "a\u{1b}[31m")]).expect_err("an error").to_string();
    assert!(error.contains("a control character") && !error.contains(char::is_control), "{error:?}");
    let error = model(&[("location", "w.bin")]).read().expect_err("an error").to_string();
    assert!(error.contains("from_path"), "{error}");
}
