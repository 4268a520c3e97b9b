//! The ledger: redundant pairs, traces, layout changes, budgets, and sites.

use blocktensor::ledger::{self, RedundantKind, ReorderBudget, Site};
use blocktensor::ops::{self, NormParams};
use blocktensor::{BoundOp, Error, Layout, MemoryFormat, Operand, Operator, StridedTensor};

use MemoryFormat::{ChannelsLast, Contiguous};

fn image() -> StridedTensor {
    StridedTensor::full(&[1, 32, 6, 5], 0.5f32, Contiguous).unwrap()
}

#[test]
fn ledger_flags_redundant_pairs_of_reorders_and_no_others() {
    let layout = Layout::native().0;
    let x = image();
    let (_, book) = ledger::record(|| {
        let a = x.to_blocked(&layout).unwrap();
        let back = a.to_strided(Contiguous).unwrap(); // there and back
        let again = x.to_blocked(&layout).unwrap(); // the same tensor again
        let other = back.contiguous(ChannelsLast).unwrap();
        let changed = ops::relu(&again).unwrap();
        (other, changed.to_strided(Contiguous).unwrap()) // another tensor: no pair
    });
    let kinds: Vec<_> = book
        .redundant()
        .iter()
        .map(|r| (r.kind, r.first.site.location().unwrap().line(), r.second.site.location().unwrap().line()))
        .collect();
    let line = book.reorders[0].site.location().unwrap().line();
    let want = [(RedundantKind::ThereAndBack, line, line + 1), (RedundantKind::Again, line, line + 2)];
    assert_eq!(kinds, want, "{book}");
    assert_eq!(book.to_string().matches("redundant: to_blocked").count(), 2, "{book}");
}

/// Storage is recycled: a new tensor at an old address is another tensor.
#[test]
fn ledger_makes_no_redundant_pair_of_recycled_storage() {
    let layout = Layout::native().0;
    let (_, book) = ledger::record(|| {
        for _ in 0..4 {
            let fresh = ops::relu(&image()).unwrap();
            drop(fresh.to_blocked(&layout).unwrap());
        }
    });
    assert_eq!((book.reorders.len(), book.redundant().len()), (4, 0), "{book}");
}

#[test]
fn chrome_trace_is_json_with_every_record_in_order() {
    let layout = Layout::native().0;
    let (_, book) = ledger::record(|| {
        let x = image().to_blocked(&layout).unwrap();
        ops::relu(&ops::max_pool2d(&x, &ops::MaxPool::new(2)).unwrap()).unwrap()
    });
    let trace: serde_json::Value = serde_json::from_str(&book.chrome_trace()).unwrap();
    let events = trace.as_array().unwrap();
    let names: Vec<&str> = events.iter().map(|e| e["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["to_blocked", "max_pool2d", "relu"]);
    assert_eq!(events[0]["args"]["to"], layout.to_string());
    assert_eq!(events[0]["cat"], "reorder");
    let mut last = 0.0;
    for e in events {
        let (at, took) = (e["ts"].as_f64().unwrap(), e["dur"].as_f64().unwrap());
        assert!(e["ph"] == "X" && at >= last && took > 0.0, "{e}");
        last = at + took - 0.001;
    }
}

#[test]
fn ledger_notes_a_strided_result_in_another_format() {
    let x = image().contiguous(ChannelsLast).unwrap();
    let (_, book) = ledger::record(|| {
        ops::relu(&x).unwrap();
        ops::layer_norm(&x, &[5], &NormParams::default()).unwrap();
    });
    let seen: Vec<_> = book.layout_changes.iter().map(|c| (&*c.op, c.from, c.to)).collect();
    assert_eq!(seen, [("layer_norm", ChannelsLast, Contiguous)], "{book}");
    assert!(book.layout_changes[0].site.location().unwrap().file().ends_with("ledger.rs"));
    assert!(book.to_string().contains("format  layer_norm"), "{book}");
}

#[test]
fn reorder_budget_denies_the_reorder_beyond_it_and_says_where() {
    let layout = Layout::native().0;
    let x = image();
    ReorderBudget::at_most(2).run(|| {
        let a = x.to_blocked(&layout).unwrap();
        a.to_strided(Contiguous).unwrap();
        let e = a.to_strided(ChannelsLast).unwrap_err();
        assert!(matches!(e, Error::ReorderDenied(_)), "{e}");
        for part in ["to_strided", "ledger.rs", "ReorderBudget", "3840 bytes", "move the call"] {
            assert!(e.to_string().contains(part), "{e} lacks {part}");
        }
        // A reorder that moves nothing costs no budget.
        a.reorder_to(&layout).unwrap();
    });
}

/// Executors of graphs and bindings give the name of a node or of a function, as their calls have no useful line of Rust.
#[test]
fn ledger_at_names_the_node_in_records_and_errors() {
    let layout = Layout::native().0;
    let node = |name: &str| Site::Node(name.into());
    let x = image();
    let (_, book) = ledger::record(|| {
        ledger::at(node("block1/to_blocked"), || {
            let blocked = x.to_blocked(&layout).unwrap();
            ledger::at(Site::Foreign("bt_to_strided"), || blocked.to_strided(Contiguous).unwrap());
            let last = x.contiguous(ChannelsLast).unwrap();
            ops::layer_norm(&last, &[5], &NormParams::default()).unwrap();
        });
        x.to_blocked(&layout).unwrap();
    });
    let sites: Vec<&Site> = book.reorders.iter().map(|r| &r.site).collect();
    let (outer, inner) = (node("block1/to_blocked"), Site::Foreign("bt_to_strided"));
    assert_eq!(sites[..3], [&outer, &inner, &outer], "{book}");
    assert!(sites.last().unwrap().location().unwrap().file().ends_with("ledger.rs"), "{book}");
    assert_eq!(book.layout_changes[0].site, outer);
    for part in ["node `block1/to_blocked`", "a foreign call of `bt_to_strided`"] {
        assert!(book.to_string().contains(part), "{book} lacks {part}");
        assert!(book.chrome_trace().contains(part), "{} lacks {part}", book.chrome_trace());
    }

    let denied = ledger::deny_reorders(|| ledger::at(node("block2"), || x.to_blocked(&layout))).unwrap_err();
    assert!(denied.to_string().contains("node `block2`"), "{denied}");
    assert!(!denied.to_string().contains("ledger.rs"), "{denied}");
    // Operators run inside the scope, too.
    let (_, book) = ledger::record(|| {
        ledger::at(node("norm"), || {
            let x = x.contiguous(ChannelsLast).unwrap();
            let op = BoundOp::new("layer_norm", &["x"], &[("normalized_shape", vec![5i64].into())]).unwrap();
            op.run(&[x.tensor_ref()]).unwrap();
        });
    });
    assert_eq!((&book.layout_changes[0].site, &*book.layout_changes[0].op), (&node("norm"), "layer_norm"));
}
