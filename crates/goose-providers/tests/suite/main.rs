//! The providers, through their public doors.

mod asking;
mod bedrock;
mod custom_providers;
mod gemini;
mod loopback;
mod ollama;
mod registry;
