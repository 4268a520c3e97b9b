//! The element orders that MegEngine documents: N=2, C=64, H=W=3, elements numbered in NCHW order.

use blocktensor::Layout;

fn first_elements(name: &str, n: usize) -> Vec<usize> {
    let layout: Layout = name.parse().unwrap();
    let dims = [2, 64, 3, 3];
    let mut at = vec![usize::MAX; layout.size_elements(&dims).unwrap()];
    for number in 0..dims.iter().product() {
        let index = [number / 576, number / 9 % 64, number / 3 % 3, number % 3];
        at[layout.offset(&dims, &index).unwrap()] = number;
    }
    assert!(!at.contains(&usize::MAX));
    at.truncate(n);
    at
}

#[test]
fn blocked_layouts_have_the_element_orders_of_megengine() {
    assert_eq!(first_elements("NCHW", 3), [0, 1, 2]);
    assert_eq!(first_elements("NHWC", 3), [0, 9, 18]);
    assert_eq!(first_elements("NCHW4", 6), [0, 9, 18, 27, 1, 10]);
    assert_eq!(first_elements("CHWN4", 9), [0, 9, 18, 27, 576, 585, 594, 603, 1]);
    assert_eq!(first_elements("NCHW32", 34)[31..], [279, 1, 10]);
    assert_eq!(first_elements("NCHW64", 66)[63..], [567, 1, 10]);
}
