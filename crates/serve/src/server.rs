//! One drive for many threads.
//!
//! Without a clock the drive works in the thread that has a request: the first one *leads*, takes what others hand over
//! meanwhile, and goes on until its own request is answered and, if more wait, some of theirs; then another that waits takes over.
//! So one request at a time needs no change of threads, and many are worked on side by side. With a clock a thread of its own leads
//! for good.

use crate::core::{Answer, Core, Item, Slot, Woken};
use crate::pace::Pace;
use lab::served::{Disk, DiskRequest};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

/// Between two looks whether time passed that nobody asked for anything in.
const IDLE: Duration = Duration::from_millis(20);

/// How long a thread that leads lets the drive work for others before it brings its own answer. A change of the leader costs a wake
/// and cold caches.
const FOR_OTHERS: Duration = Duration::from_micros(200);

/// Sectors of one page, and all.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Bytes that clients may use.
    pub size: u64,
    /// Bytes that are best written at once.
    pub page: u32,
}

#[derive(Default)]
struct Queue {
    items: Vec<Item>,
    /// Whether a thread leads.
    is_led: bool,
    /// Whether requests are kept from the drive.
    hangs: bool,
}

/// A drive for many threads.
pub struct Server {
    queue: Mutex<Queue>,
    /// A request came to a drive with a clock, or requests hang no more.
    arrived: Condvar,
    /// Whether a thread of its own leads, which may wait for what arrives.
    has_clock: bool,
    core: Mutex<Core>,
    shape: Shape,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic of the engine is a defect, and was told; others that wait are to hear of it, too.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Server {
    /// Serves the drive. `syncs`: flushes make files durable against a failure of the machine, too.
    #[must_use]
    pub fn new(disk: Disk, pace: Pace, syncs: bool) -> Arc<Self> {
        let size = disk.sectors() * lab::served::SECTOR as u64;
        let page = disk.sectors_per_page() * lab::served::SECTOR as u32;
        let core = Mutex::new(Core::new(disk, pace, syncs));
        let (queue, arrived) = (Mutex::default(), Condvar::new());
        let has_clock = matches!(pace, Pace::Times(_));
        let server = Arc::new(Self { queue, arrived, has_clock, core, shape: Shape { size, page } });
        let weak = Arc::downgrade(&server);
        match pace {
            Pace::None => drop(thread::spawn(move || let_time_pass(&weak))),
            Pace::Still => {}
            Pace::Times(factor) => {
                locked(&server.queue).is_led = true;
                thread::spawn(move || keep_time(&weak, factor));
            }
        }
        server
    }

    /// Its size.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Has a request answered. Any number of threads may wait here.
    ///
    /// # Errors
    /// Why the request failed.
    pub fn call(&self, request: DiskRequest) -> Answer {
        let slot = Slot::of_this_thread();
        let item = Item::Request(request, slot.clone());
        let mut queue = locked(&self.queue);
        while queue.hangs {
            queue = self.arrived.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        self.enter(queue, item, &slot)
    }

    /// Does something with the drive between two requests.
    pub fn job<T: Send + 'static>(&self, job: impl FnOnce(&mut Core) -> T + Send + 'static) -> Option<T> {
        let slot = Slot::of_this_thread();
        let result = Arc::new(Mutex::new(None));
        let into = result.clone();
        let run = move |core: &mut Core| *locked(&into) = Some(job(core));
        let item = Item::Job(Box::new(run), slot.clone());
        let _ = self.enter(locked(&self.queue), item, &slot);
        locked(&result).take()
    }

    /// Keeps requests from the drive, or no longer.
    pub fn hang(&self, hangs: bool) {
        locked(&self.queue).hangs = hangs;
        self.arrived.notify_all();
    }

    /// As a schedule said.
    fn hang_as(&self, core: &mut Core) {
        if let Some(hangs) = core.hangs.take() {
            self.hang(hangs);
        }
    }

    fn enter(&self, mut queue: MutexGuard<'_, Queue>, item: Item, slot: &Slot) -> Answer {
        queue.items.push(item);
        let leads = !std::mem::replace(&mut queue.is_led, true);
        drop(queue);
        if leads {
            self.lead(slot);
        } else if self.has_clock {
            self.arrived.notify_all();
        }
        loop {
            match slot.wait() {
                Woken::Lead => self.lead(slot),
                Woken::Answer(answer) => return answer,
            }
        }
    }

    /// Works until the thread's own request is answered, and goes on for a while if there is more to do; then another thread
    /// takes over, if one waits.
    fn lead(&self, own: &Slot) {
        let mut core = locked(&self.core);
        core.rest();
        let mut own_answered = None;
        loop {
            let items = std::mem::replace(&mut locked(&self.queue).items, core.room());
            core.take(items);
            core.work();
            self.hang_as(&mut core);
            if !own.is_answered() {
                continue;
            }
            let since = *own_answered.get_or_insert(core.last);
            let more = core.is_busy() || !locked(&self.queue).items.is_empty();
            if more && core.last.duration_since(since) < FOR_OTHERS {
                continue;
            }
            core.wake();
            let mut queue = locked(&self.queue);
            let first = queue.items.first().map(|(Item::Request(_, slot) | Item::Job(_, slot))| slot.clone());
            match core.someone_waiting().or(first) {
                Some(next) => {
                    drop((queue, core));
                    next.lead();
                }
                None => queue.is_led = false,
            }
            return;
        }
    }
}

/// Lets idle time pass while nobody asks.
fn let_time_pass(server: &Weak<Server>) {
    while let Some(server) = server.upgrade() {
        server.job(|_| ());
        drop(server);
        thread::sleep(IDLE);
    }
}

/// Leads for good, and lets virtual time pass as the wall clock does.
fn keep_time(server: &Weak<Server>, factor: f64) {
    let mut wait = Duration::ZERO;
    while let Some(server) = server.upgrade() {
        let mut queue = locked(&server.queue);
        if queue.items.is_empty() && !wait.is_zero() {
            queue = server.arrived.wait_timeout(queue, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
        let items = std::mem::take(&mut queue.items);
        drop(queue);
        let mut core = locked(&server.core);
        core.keep_up(factor);
        core.take(items);
        wait = core.keep_up(factor);
        core.wake();
        server.hang_as(&mut core);
    }
}
