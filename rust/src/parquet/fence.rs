//! A fence round the `parquet` crate: its panics on malformed files become errors.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use parquet::errors::ParquetError;

thread_local! {
    static FENCED: Cell<bool> = const { Cell::new(false) };
}

/// What `work` gives; an error or a panic of it as a sentence. A panic prints nothing.
pub(super) fn fenced<T>(
    work: impl FnOnce() -> parquet::errors::Result<T>,
) -> std::result::Result<T, String> {
    silence();
    let outer = FENCED.replace(true);
    // What panicked is not used again: callers drop the reader on any error.
    let outcome = panic::catch_unwind(AssertUnwindSafe(work));
    FENCED.set(outer);
    match outcome {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(ParquetError::General(what) | ParquetError::EOF(what))) => Err(what),
        Ok(Err(error)) => Err(error.to_string()),
        Err(payload) => Err(message(payload.as_ref())),
    }
}

/// Installs, once, a panic hook that is silent inside the fence and else does what was done before.
fn silence() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !FENCED.get() {
                before(info);
            }
        }));
    });
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    text.unwrap_or("malformed data").to_owned()
}
