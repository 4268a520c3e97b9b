//! Losses as a picture.

use std::fmt::Write;

/// An SVG with one line for each list of losses. `first` is the number of the first step.
pub fn losses(lists: &[(String, Vec<f32>)], first: usize) -> String {
    let (width, height, margin) = (640.0, 360.0, 48.0);
    let steps = lists.iter().map(|(_, list)| list.len()).max().unwrap_or(0).max(2) - 1;
    let top = lists.iter().flat_map(|(_, list)| list).fold(0f32, |top, &loss| top.max(loss)).max(1e-6);
    let x = |step: usize| margin + step as f32 / steps as f32 * (width - 2.0 * margin);
    let y = |loss: f32| height - margin - loss / top * (height - 2.0 * margin);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n\
         <path d=\"M{left} {margin}V{bottom}H{right}\" fill=\"none\" stroke=\"#888\"/>\n",
        left = margin,
        bottom = height - margin,
        right = width - margin,
    );
    let mut text = |x: f32, y: f32, anchor: &str, fill: &str, text: &str| {
        writeln!(svg, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" fill=\"{fill}\">{text}</text>")
            .expect("a String takes all text");
    };
    text(margin - 6.0, y(top) + 4.0, "end", "#444", &format!("{top:.2}"));
    text(margin - 6.0, y(0.0) + 4.0, "end", "#444", "0");
    text(x(0), height - margin + 18.0, "middle", "#444", &format!("step {first}"));
    text(x(steps), height - margin + 18.0, "middle", "#444", &(first + steps).to_string());
    let colours = ["#d1495b", "#00798c", "#edae49"];
    for ((i, (name, _)), colour) in lists.iter().enumerate().zip(colours.iter().cycle()) {
        text(width - margin, margin + 16.0 * i as f32, "end", colour, name);
    }
    // Later lines are narrower, so that equal ones are both seen.
    for ((i, (_, list)), colour) in lists.iter().enumerate().zip(colours.iter().cycle()) {
        let points: Vec<String> =
            list.iter().enumerate().map(|(step, &loss)| format!("{:.1},{:.1}", x(step), y(loss))).collect();
        let wide = if i == 0 { 4.0 } else { 1.5 };
        writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{wide}\"/>",
            points.join(" ")
        )
        .expect("a String takes all text");
    }
    svg + "</svg>\n"
}
