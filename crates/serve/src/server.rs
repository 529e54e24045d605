//! One drive for many threads.
//!
//! Without a clock the drive works in the thread that has a request: the first one *leads*, takes what others hand over
//! in the meantime, and goes on until its own request is answered and, if more wait, some of theirs; then another that waits takes over.
//! So one request at a time needs no change of threads, and many are worked on side by side. With a clock a thread of its own leads
//! permanently.

use crate::core::{Answer, Core, Item, Slot, Woken};
use crate::pace::Pace;
use crate::time::now;
use ssd::disk::{Disk, DiskRequest};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::Duration;

/// Between two looks whether time passed that no one asked for anything in.
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

/// Who has the connections of clients.
pub trait Clients: Send + Sync {
    /// How many there are.
    fn count(&self) -> usize;
    /// Ends them all once what they asked is answered.
    fn let_go(&self);
    /// Ends them all at once.
    fn cut_off(&self);
    /// Takes no more of them, and ends the process when none is left.
    fn end(&self);
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
    clients: OnceLock<Box<dyn Clients>>,
    /// Itself, for what is done later.
    weak: Weak<Self>,
    /// How often all clients were dropped: requests of earlier ones are not carried out.
    generation: AtomicU64,
    is_stopping: AtomicBool,
}

/// How long clients may take to go.
const PATIENCE: Duration = Duration::from_secs(5);

/// Between two looks whether they are gone.
const LOOK: Duration = Duration::from_millis(5);

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic of the engine is a defect, and was told; others that wait are to hear of it, too.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Server {
    /// Serves the drive. `syncs`: flushes make files durable against a failure of the machine, too.
    #[must_use]
    pub fn new(disk: Disk, pace: Pace, syncs: bool) -> Arc<Self> {
        let size = disk.sectors() * ssd::disk::SECTOR as u64;
        let page = disk.sectors_per_page() * ssd::disk::SECTOR as u32;
        let core = Mutex::new(Core::new(disk, pace, syncs));
        let (queue, arrived) = (Mutex::default(), Condvar::new());
        let has_clock = matches!(pace, Pace::Times(_));
        let (clients, generation, is_stopping) = (OnceLock::new(), AtomicU64::new(0), AtomicBool::new(false));
        let shape = Shape { size, page };
        let server = Arc::new_cyclic(|weak| {
            let weak = weak.clone();
            Self { queue, arrived, has_clock, core, shape, clients, weak, generation, is_stopping }
        });
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

    /// From now on clients are those of `clients`.
    pub fn serves(&self, clients: Box<dyn Clients>) {
        let _ = self.clients.set(clients);
    }

    /// A client comes: to which generation it belongs; none, if the drive is stopping.
    #[must_use]
    pub fn admit(&self) -> Option<u64> {
        (!self.is_stopping()).then(|| self.generation.load(Ordering::Acquire))
    }

    /// Has a request answered. Any number of threads may wait here.
    ///
    /// # Errors
    /// Why the request failed.
    pub fn call(&self, request: DiskRequest) -> Answer {
        self.call_of(self.generation.load(Ordering::Acquire), request)
    }

    /// As [`Self::call`], of a client of this generation: if it was dropped in the meantime, the drive never hears of the request.
    ///
    /// # Errors
    /// Why the request failed.
    pub fn call_of(&self, generation: u64, request: DiskRequest) -> Answer {
        let slot = Slot::of_this_thread();
        let item = Item::Request(request, slot.clone(), generation);
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

    /// For what is done later.
    pub(crate) fn itself(&self) -> Arc<Self> {
        self.weak.upgrade().expect("whoever has it keeps it")
    }

    /// All clients are dropped, as if the power had gone in their machine, too: what they asked and the drive has not taken yet it never
    /// takes. How many there were.
    ///
    /// # Errors
    /// If it is not known where they come from.
    pub(crate) fn disconnect(&self, core: &mut Core) -> Result<usize, String> {
        let clients = self.clients.get().ok_or("it is not known where clients come in, so they cannot be disconnected")?;
        core.generation = 1 + self.generation.fetch_add(1, Ordering::AcqRel);
        let count = clients.count();
        // nbdkit closes each when what it asked has failed.
        clients.let_go();
        Ok(count)
    }

    /// Whether it ends: see [`Self::stop`].
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }

    /// Takes no client any more, has what was asked answered, ends the connections, and makes durable what was answered. How many
    /// clients there were. Then the process may end: [`Self::end`].
    ///
    /// # Errors
    /// If the drive cannot make it durable.
    pub fn stop(&self) -> Result<usize, String> {
        self.is_stopping.store(true, Ordering::Release);
        self.hang(false);
        let mut count = 0;
        if let Some(clients) = self.clients.get() {
            count = clients.count();
            let until = now() + PATIENCE;
            while clients.count() > 0 && now() < until {
                clients.let_go();
                thread::sleep(LOOK);
            }
            clients.cut_off();
        }
        match self.call(DiskRequest::Flush) {
            Ok(_) => Ok(count),
            Err(failed) => Err(failed.in_words().to_owned()),
        }
    }

    /// The process ends, once it has told the client that wanted it.
    pub fn end(&self) {
        if let Some(clients) = self.clients.get() {
            clients.end();
        }
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
            let first = queue.items.first().map(|(Item::Request(_, slot, _) | Item::Job(_, slot))| slot.clone());
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

/// Lets idle time pass while no one asks.
fn let_time_pass(server: &Weak<Server>) {
    while let Some(server) = server.upgrade() {
        server.job(|_| ());
        drop(server);
        thread::sleep(IDLE);
    }
}

/// Leads permanently, and lets virtual time pass as the wall clock does.
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
