//! Processes a log on all cores. Pieces are checked in any order, but counted and written in the order of the log.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use anyhow::Context;

/// The size of the pieces in which the log is read.
const PIECE_BYTES: usize = 1 << 17;
/// The largest number of pieces in memory, per worker.
const PIECES_A_WORKER: usize = 4;

/// Some whole lines of the log.
pub(crate) struct Piece {
    index: usize,
    first_line: usize,
    bytes: Vec<u8>,
}

impl Piece {
    /// Returns the lines with their numbers in the log. Empty lines are left out.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let lines = self.bytes.split(|byte| *byte == b'\n');
        (self.first_line..).zip(lines).filter(|(_, line)| !line.trim_ascii().is_empty())
    }
}

/// The three steps of processing a piece. The first and the last run on all cores. Between them, pieces are counted one
/// at a time, in the order of the log.
pub(crate) trait PipelineWork: Sync {
    type CheckedCall: Send;
    type Done: Send;

    fn judge(&self, piece: &Piece) -> Self::CheckedCall;
    fn count(&self, judged: &mut Self::CheckedCall);
    fn finish(&self, judged: Self::CheckedCall) -> Self::Done;
}

/// Processes a log and passes the results to `write`, in the order of the log. `name` is the log's name in errors.
pub(crate) fn run<W: PipelineWork>(
    name: &str,
    log: impl Read + Send,
    longest_line: usize,
    work: &W,
    mut write: impl FnMut(W::Done) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let flight = workers * PIECES_A_WORKER;
    // A piece may only be read when an earlier one has been written.
    let (permits, permitted) = sync_channel::<()>(flight);
    for _ in 0..flight {
        permits.send(()).context("the work has ended")?;
    }
    let (to_work, pieces) = sync_channel::<Piece>(flight);
    let (to_write, written) = sync_channel::<(usize, thread::Result<W::Done>)>(flight);
    let (pieces, order) = (Mutex::new(pieces), PieceOrder::default());
    let (pieces, order) = (&pieces, &order);
    thread::scope(move |scope| {
        let log = BufReader::with_capacity(PIECE_BYTES, log);
        let reading = scope.spawn(move || cut(log, &permitted, &to_work, longest_line));
        for _ in 0..workers {
            let to_write = to_write.clone();
            scope.spawn(move || {
                while let Some(piece) = next(pieces) {
                    let Some(done) = work_on(&piece, work, order) else { return };
                    if to_write.send((piece.index, done)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(to_write);
        let mut early = BTreeMap::new();
        let mut due = 0;
        for (index, done) in &written {
            early.insert(index, done.unwrap_or_else(|panic| resume_unwind(panic)));
            while let Some(done) = early.remove(&due) {
                due += 1;
                write(done)?;
                // The reading thread may have finished already.
                let _ = permits.send(());
            }
        }
        // This ends the reading thread when writing ended early.
        drop((permits, written));
        let read = reading.join().map_err(|_| anyhow::anyhow!("reading failed"))?;
        read.with_context(|| format!("cannot read {name}"))
    })
}

/// Processes one piece and passes on a panic. Returns `None` if another thread's panic has ended the work.
fn work_on<W: PipelineWork>(
    piece: &Piece,
    work: &W,
    order: &PieceOrder,
) -> Option<thread::Result<W::Done>> {
    let done = catch_unwind(AssertUnwindSafe(|| {
        let mut judged = work.judge(piece);
        let in_turn = order.in_turn(piece.index, || work.count(&mut judged));
        in_turn.then(|| work.finish(judged))
    }));
    done.inspect_err(|_| order.end()).transpose()
}

/// Lets pieces pass one at a time, in the order of the log.
#[derive(Default)]
struct PieceOrder {
    next: Mutex<NextPiece>,
    moved: Condvar,
}

#[derive(Default)]
struct NextPiece {
    index: usize,
    ended: bool,
}

impl PieceOrder {
    /// Waits for the piece's turn and counts it. Returns false if the work has ended.
    fn in_turn(&self, index: usize, count: impl FnOnce()) -> bool {
        let is_early = |next: &mut NextPiece| next.index != index && !next.ended;
        let next = self.moved.wait_while(self.lock(), is_early);
        let next = next.unwrap_or_else(PoisonError::into_inner);
        if next.ended {
            return false;
        }
        // Only this thread has the turn, so the lock is not needed while counting.
        drop(next);
        count();
        self.lock().index += 1;
        self.moved.notify_all();
        true
    }

    fn end(&self) {
        self.lock().ended = true;
        self.moved.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, NextPiece> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Cuts the log into pieces of whole lines. If no more input is available, the present piece is passed on, so that a
/// growing log can be followed.
fn cut(
    mut log: BufReader<impl Read>,
    permitted: &Receiver<()>,
    to_work: &SyncSender<Piece>,
    longest_line: usize,
) -> io::Result<()> {
    let mut first_line = 1;
    for index in 0.. {
        if permitted.recv().is_err() {
            return Ok(());
        }
        let mut bytes = Vec::with_capacity(PIECE_BYTES + PIECE_BYTES / 4);
        let mut lines = 0;
        while bytes.len() < PIECE_BYTES && (lines == 0 || !log.buffer().is_empty()) {
            let before = bytes.len();
            let mut line = Read::take(&mut log, longest_line as u64 + 1);
            if line.read_until(b'\n', &mut bytes)? == 0 {
                break;
            }
            if bytes.len() - before > longest_line {
                let text = format!(
                    "line {} has more than {longest_line} bytes, the limit --max-bytes",
                    first_line + lines
                );
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            lines += 1;
        }
        if bytes.is_empty() || to_work.send(Piece { index, first_line, bytes }).is_err() {
            return Ok(());
        }
        first_line += lines;
    }
    Ok(())
}

fn next(pieces: &Mutex<Receiver<Piece>>) -> Option<Piece> {
    pieces.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Numbers the lines in the counting step, and panics at a given line.
    struct Numbering {
        counted: AtomicUsize,
        panics_at: usize,
    }

    impl PipelineWork for Numbering {
        type CheckedCall = (usize, Vec<Vec<u8>>);
        type Done = String;

        fn judge(&self, piece: &Piece) -> Self::CheckedCall {
            (0, piece.lines().map(|(_, line)| line.to_vec()).collect())
        }

        fn count(&self, judged: &mut Self::CheckedCall) {
            judged.0 = self.counted.fetch_add(judged.1.len(), Ordering::SeqCst);
            let range = judged.0..judged.0 + judged.1.len();
            assert!(!range.contains(&self.panics_at), "asked to");
        }

        fn finish(&self, (first, lines): Self::CheckedCall) -> Self::Done {
            let lines = (first..).zip(lines);
            lines.map(|(at, line)| format!("{at} {}\n", String::from_utf8_lossy(&line))).collect()
        }
    }

    fn log(lines: usize) -> String {
        (0..lines).map(|line| format!("line {line}\n")).collect()
    }

    #[test]
    fn the_order_of_the_log_is_kept() {
        let work = Numbering { counted: AtomicUsize::new(0), panics_at: usize::MAX };
        let mut written = String::new();
        let write = |done: String| {
            written.push_str(&done);
            Ok(())
        };
        run("log", log(100_000).as_bytes(), 1000, &work, write).unwrap();
        let expected: String = (0..100_000).map(|line| format!("{line} line {line}\n")).collect();
        assert!(written == expected);
    }

    #[test]
    fn whatever_fails_ends_the_whole() {
        let work = |panics_at| Numbering { counted: AtomicUsize::new(0), panics_at };
        let lines = log(1_000_000);
        let stopped =
            run("log", lines.as_bytes(), 1000, &work(usize::MAX), |_| anyhow::bail!("closed"));
        assert_eq!(stopped.unwrap_err().to_string(), "closed");
        let panicked =
            catch_unwind(|| run("log", lines.as_bytes(), 1000, &work(500_000), |_| Ok(())));
        assert!(panicked.is_err());
        let long = run("log", lines.as_bytes(), 5, &work(usize::MAX), |_| Ok(()));
        let error = format!("{:#}", long.unwrap_err());
        assert!(error.starts_with("cannot read log: line 1 has more than 5 bytes"), "{error}");
    }

    #[test]
    fn empty_lines_keep_their_numbers() {
        let piece = Piece { index: 0, first_line: 7, bytes: b"a\n\n \r\nb".to_vec() };
        assert_eq!(piece.lines().map(|(number, _)| number).collect::<Vec<_>>(), [7, 10]);
    }
}
