//! stub
pub fn relu(x: f32) -> f32 {
    if x < 0.0 { 0.0 } else { x }
}
pub fn leaky_relu(x: f32, s: f32) -> f32 {
    if x < 0.0 { x * s } else { x }
}
pub fn clamp(x: f32, a: f32, b: f32) -> f32 {
    x.clamp(a, b)
}
pub fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}
pub fn silu(x: f32) -> f32 {
    x * sigmoid(x)
}
pub fn hardswish(x: f32) -> f32 {
    x * (x + 3.0).clamp(0.0, 6.0) / 6.0
}
pub fn tanh(x: f32) -> f32 {
    x.tanh()
}
