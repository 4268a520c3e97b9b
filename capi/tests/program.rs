//! The C programs in examples are compiled with the system's compiler and run, also under valgrind. Their results agree with
//! f64 loops, and with the stored answers of an exported network.

use std::path::Path;
use std::process::Command;

use blocktensor::{StateDict, StridedTensor};

mod support;

use support::programs::{cc, compiled, library, run, under_valgrind};

fn integers(n: usize, seed: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919 + seed * 104_729) % 9) as f32 - 4.0).collect()
}

/// A convolution of 3x3 with padding 1 from the definition.
fn conv(x: &[f64], w: &[f32], bias: &[f32], c: usize, o: usize, side: usize) -> Vec<f64> {
    let mut y = vec![0.0; o * side * side];
    for (oc, plane) in y.chunks_mut(side * side).enumerate() {
        for (p, out) in plane.iter_mut().enumerate() {
            *out = bias.get(oc).map_or(0.0, |&b| f64::from(b));
            for ic in 0..c {
                for (t, &w) in w[(oc * c + ic) * 9..][..9].iter().enumerate() {
                    let (i, j) = (p / side + t / 3, p % side + t % 3);
                    if (1..=side).contains(&i) && (1..=side).contains(&j) {
                        *out += x[ic * side * side + (i - 1) * side + j - 1] * f64::from(w);
                    }
                }
            }
        }
    }
    y
}

#[test]
fn a_c_program_runs_a_chain_and_meets_five_errors() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let dir = std::env::temp_dir().join(format!("blocktensor-c-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let (w1, b1, w2) = (integers(32 * 16 * 9, 1), integers(32, 2), integers(24 * 32 * 9, 3));
    let mut dict = StateDict::new();
    dict.insert("conv1.weight", StridedTensor::from_slice(&w1, &[32, 16, 3, 3]).unwrap());
    dict.insert("conv1.bias", StridedTensor::from_slice(&b1, &[32]).unwrap());
    dict.insert("conv2.weight", StridedTensor::from_slice(&w2, &[24, 32, 3, 3]).unwrap());
    let weights = dir.join("weights.safetensors");
    dict.save(&weights).unwrap();

    let library = library();
    let program = compiled("chain", &dir);
    // The header compiles as C++ too.
    let cpp = dir.join("header.cpp");
    std::fs::write(&cpp, "#include \"blocktensor.h\"\nint main() { return bt_abi_version() == 0; }\n")
        .unwrap();
    run(Command::new("c++")
        .args(["-std=c++11", "-Wall", "-Werror", "-fsyntax-only", "-I"])
        .arg(here.join("include"))
        .arg(&cpp));

    let text = run(Command::new(&program).arg(&weights).env("LD_LIBRARY_PATH", &library));
    let x: Vec<f64> = (0..16 * 144).map(|i| (i % 7) as f64 - 3.0).collect();
    let hidden: Vec<f64> = conv(&x, &w1, &b1, 16, 32, 12).into_iter().map(|v| v.max(0.0)).collect();
    let want: Vec<f64> =
        conv(&hidden, &w2, &[], 32, 24, 12).chunks(144).map(|p| p.iter().sum::<f64>() / 144.0).collect();
    let line = text.lines().find_map(|l| l.strip_prefix("result: ")).expect(&text);
    let got: Vec<f64> = line.split(' ').map(|v| v.parse().unwrap()).collect();
    assert_eq!(got.len(), want.len());
    for (g, w) in got.iter().zip(&want) {
        assert!((g - w).abs() <= 1e-5 * w.abs().max(1.0), "{g} and {w}: {text}");
    }
    for part in [
        "`cumsum` has no kernel for dispatch key `blocked`",
        "reorder it with `bt_to_strided`",
        "3. op `bt_call`",
        "4. a handle freed twice: was freed",
        "`no.such.tensor`",
        "live handles: 0",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }

    // The library is loaded at run time, and used through the function table alone.
    let loads = dir.join("loads.c");
    std::fs::write(&loads, LOADS).unwrap();
    let loader = dir.join("loads");
    run(cc().arg(&loads).args(["-ldl", "-o"]).arg(&loader));
    let said = run(Command::new(&loader).arg(library.join("libblocktensor_c.so")));
    assert!(said.contains("blocktensor 0.") && said.contains("handles 0"), "{said}");

    if let Some(said) = under_valgrind(&program, &[&weights]) {
        assert!(said.contains("live handles: 0"), "{said}");
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn a_c_program_plans_a_model_and_prints_its_largest_scores() {
    let dir = std::env::temp_dir().join(format!("blocktensor-c-model-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let program = compiled("model", &dir);
    // The program in docs/c.md compiles, and says why it ends: this model takes images of other sizes.
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(here.join("../docs/c.md")).unwrap();
    let shown = page.split("```c\n").map(|rest| rest.split("```").next().unwrap());
    let source = dir.join("page.c");
    std::fs::write(&source, shown.last().filter(|code| code.contains("int main")).unwrap()).unwrap();
    let (model, image) = (support::stored("resnet.onnx"), support::stored("resnet.image.npy"));
    let shown = dir.join("page");
    run(cc().arg(&source).arg("-L").arg(library()).args(["-lblocktensor_c", "-o"]).arg(&shown));
    for (file, part) in [(model.as_path(), "[1, 3, 224, 224]"), (Path::new("none.onnx"), "none.onnx")] {
        let done = Command::new(&shown).arg(file).env("LD_LIBRARY_PATH", library()).output().unwrap();
        let said = String::from_utf8(done.stderr).unwrap();
        assert!(done.status.code() == Some(1) && said.contains(part), "{:?}: {said}", done.status);
    }
    let check = |text: &str| {
        for part in [
            "layouts: blocked\n",
            ": conv2d + residual,relu (",
            "reorders: ",
            "\narena: ",
            "\nlive handles: 0\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        // Each line has the classes in the order of the stored scores.
        let (_, scores) = support::array("resnet.output.npy");
        for (i, scores) in scores.chunks(10).enumerate() {
            let line = text.lines().find_map(|l| l.strip_prefix(&format!("image {i}: "))).expect(text);
            let got: Vec<(usize, f32)> = line
                .split(", ")
                .map(|entry| {
                    let (class, score) = entry.strip_prefix("class ").unwrap().split_once(' ').unwrap();
                    (class.parse().unwrap(), score.parse().unwrap())
                })
                .collect();
            let mut want: Vec<(usize, f32)> = scores.iter().copied().enumerate().collect();
            want.sort_by(|a, b| b.1.total_cmp(&a.1));
            assert_eq!(got.len(), 3);
            for ((class, score), (of, stored)) in got.iter().zip(&want) {
                assert!(class == of && (score - stored).abs() < 2e-5, "{got:?} and {want:?}");
            }
        }
    };
    check(&run(Command::new(&program).args([&model, &image]).env("LD_LIBRARY_PATH", library())));
    if let Some(said) = under_valgrind(&program, &[&model, &image]) {
        check(&said);
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

/// Random weights of the network in cnn.c, as a trained one might have them.
fn network(path: &Path) {
    let mut dict = StateDict::new();
    let mut insert = |name: String, dims: &[usize], scale: f32, shift: f32, seed: u64| {
        let values = support::calls::noise(dims.iter().product(), seed);
        let values: Vec<f32> = values.iter().map(|v| v * scale + shift).collect();
        dict.insert(name, StridedTensor::from_slice(&values, dims).unwrap());
    };
    for (i, (conv, norm, dims)) in [
        ("conv1", "bn1", [16, 3, 7, 7]),
        ("layer1.conv1", "layer1.bn1", [16, 16, 3, 3]),
        ("layer1.conv2", "layer1.bn2", [16, 16, 3, 3]),
    ]
    .into_iter()
    .enumerate()
    {
        let seed = 10 * i as u64;
        insert(format!("{conv}.weight"), &dims, 0.2, 0.0, seed + 1);
        for (part, scale, shift, seed) in [
            ("weight", 0.3, 1.0, seed + 2),
            ("bias", 0.2, 0.0, seed + 3),
            ("running_mean", 0.2, 0.0, seed + 4),
            ("running_var", 0.3, 1.0, seed + 5),
        ] {
            insert(format!("{norm}.{part}"), &[16], scale, shift, seed);
        }
    }
    insert("fc.weight".into(), &[10, 16], 0.3, 0.0, 91);
    insert("fc.bias".into(), &[10], 0.3, 0.0, 92);
    dict.save(path).unwrap();
}

#[test]
fn a_c_program_packs_a_network_saves_it_and_maps_it_again() {
    let folder = tempfile::tempdir().unwrap();
    let (weights, packed) = (folder.path().join("net.safetensors"), folder.path().join("net.packed"));
    network(&weights);
    let program = compiled("cnn", folder.path());
    let mut command = Command::new(&program);
    let command = command.args([&weights, &packed]).env("LD_LIBRARY_PATH", library());
    if cfg!(not(feature = "onednn")) {
        let out = command.output().unwrap();
        let said = String::from_utf8_lossy(&out.stdout);
        // There is no stem without oneDNN, and the scope frees what was made before that.
        assert!(
            out.status.code() == Some(1) && said.contains("conv2d") && said.contains("live handles: 0"),
            "{said}"
        );
        return;
    }
    let check = |said: &str| {
        for part in ["packed and unpacked scores: ", "live handles: 0\n"] {
            assert!(said.contains(part), "{part}: {said}");
        }
        let line = said.lines().find_map(|l| l.strip_prefix("relative distance: ")).unwrap();
        assert!(line.parse::<f64>().unwrap() < 1e-5, "{said}");
    };
    check(&run(command));
    if let Some(said) = under_valgrind(&program, &[&weights, &packed]) {
        check(&said);
    }
    // A damaged file of weights is an error with a text.
    std::fs::write(&weights, "no weights").unwrap();
    let out =
        Command::new(&program).args([&weights, &packed]).env("LD_LIBRARY_PATH", library()).output().unwrap();
    assert!(!out.status.success() && String::from_utf8_lossy(&out.stdout).contains("net.safetensors"));
}

const LOADS: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include "blocktensor.h"
int main(int argc, char **argv) {
    if (argc != 2) return 2;
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) { puts(dlerror()); return 1; }
    const bt_api *(*get)(uint32_t, size_t);
    void *symbol = dlsym(library, "bt_get_api");
    memcpy(&get, &symbol, sizeof get);
    if (get(BT_ABI_VERSION + 1, sizeof(bt_api))) return 1;
    const bt_api *api = get(BT_ABI_VERSION, sizeof(bt_api));
    if (!api) return 1;
    const int64_t dims[4] = {1, 3, 2, 2};
    const float numbers[12] = {0};
    bt_handle t, b;
    if (api->tensor_from_data(BT_F32, 4, dims, NULL, numbers, sizeof numbers, &t)) return 1;
    if (api->to_blocked(t, NULL, &b) || api->free(t) || api->free(b)) return 1;
    if (api->abi_version() != BT_ABI_VERSION || api->model_load("/no/such/file", &t) != BT_FILE_ACCESS) return 1;
    if (api->plan_load("/no/such/file", false, &t) != BT_FILE_ACCESS) return 1;
    printf("%s, handles %zu\n", api->version(), api->live_handles());
    return 0;
}
"#;
