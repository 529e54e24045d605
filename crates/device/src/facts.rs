//! Facts, then folds (decision D9): the machine records what happened, once; every figure of a
//! report is a fold over these records, so two reports cannot disagree.

use vocab::{Bytes, Cause, ChannelId, DieId, Nanos, SimTime, StreamId};

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact {
    /// A page was read.
    Read {
        /// Page number.
        ppn: u32,
        /// Why.
        cause: Cause,
    },
    /// A page was programmed.
    Programmed {
        /// Page number.
        ppn: u32,
        /// Why.
        cause: Cause,
        /// Slots of it that hold something.
        filled: u32,
    },
    /// A page was recharged in place.
    Recharged {
        /// Page number.
        ppn: u32,
    },
    /// A block was erased.
    Erased {
        /// Block number.
        block: u32,
        /// Why.
        cause: Cause,
    },
    /// The codewords of a page were decoded.
    Decoded {
        /// How many.
        codewords: u32,
        /// Errors corrected.
        errors: u32,
        /// Codewords that could not be corrected.
        failed: u32,
        /// Of these, how many came back wrong and were given away by their checksum alone.
        miscorrected: u32,
        /// Codewords of LDPC that their curve lets decode and the decoder does not: only where pages carry bytes.
        disagreed: u32,
        /// How long the decoder took.
        time: Nanos,
    },
    /// The die read a page once more, or for the first time, on the ladder of reads.
    Climbed {
        /// On which step.
        step: Step,
        /// How often the cells were sensed.
        sensings: u32,
        /// How long die and channel are at it, without waiting.
        flash: Nanos,
        /// How long the decoder is.
        decode: Nanos,
    },
    /// The ladder of a page has ended.
    LadderEnded {
        /// On which step; `None`: nothing helped.
        step: Option<Step>,
        /// How often it was read with other references.
        retries: u32,
    },
    /// A page was encoded.
    Encoded {
        /// Bits that its code corrects in a codeword.
        capability: u8,
        /// How long the encoder took.
        time: Nanos,
    },
    /// A command was served.
    Served {
        /// The die; `None` where it took no time.
        die: Option<DieId>,
        /// How long its die was busy.
        busy: Nanos,
        /// Its channel.
        channel: ChannelId,
        /// How long that carried commands or data.
        carried: Nanos,
        /// Data and OOB bytes that it carried.
        moved: Bytes,
    },
    /// A host request arrived.
    Arrived {
        /// Kind of the request.
        kind: RequestKind,
    },
    /// A host request was answered.
    Answered {
        /// Kind of the request.
        kind: RequestKind,
        /// How long it took.
        latency: Nanos,
    },
    /// A host request of one of several flows arrived.
    FlowArrived {
        /// The flow.
        flow: u16,
        /// Kind of the request.
        kind: RequestKind,
        /// Its length.
        sectors: u32,
        /// When it was sent.
        sent: SimTime,
    },
    /// A host request of one of several flows was answered.
    FlowAnswered {
        /// The flow.
        flow: u16,
        /// Kind of the request.
        kind: RequestKind,
        /// How long it took.
        latency: Nanos,
    },
    /// Logical pages of an arriving host read or write.
    Pages {
        /// Kind of the request.
        kind: RequestKind,
        /// How many.
        pages: u32,
    },
    /// Logical pages of a stream of the host: only on drives that tell streams apart.
    OfStream {
        /// The stream.
        stream: StreamId,
        /// Kind of the work.
        work: StreamWork,
        /// How many.
        pages: u32,
    },
    /// A host page read was compared with what was written.
    Checked {
        /// Whether it differed.
        mismatch: bool,
    },
    /// A read was sent to more than what it wants.
    ReadAround {
        /// Sub-requests for other pages that were queued.
        extra: u32,
    },
    /// A page that was read was still in a register of its die: nothing was sensed.
    InRegister,
    /// A sub-request was of no use any more and left its queue.
    Withdrawn,
    /// Wanted pages that were computed from others, which came first.
    Derived {
        /// How many.
        pages: u32,
    },
    /// A page was read ahead of the host.
    ReadAhead,
    /// A host page was in a read-ahead buffer, or on its way there.
    AheadHit,
    /// Code of a group of pages is in flash.
    GroupEncoded,
    /// A host page was answered by solving from its stripe.
    Rebuilt,
    /// A host page could not be read.
    MediaError,
    /// A read gave another page than it was asked for, or an erased one.
    Astray,
    /// A host page could not be written.
    WriteError,
    /// A host request was refused: the drive is read-only.
    Refused,
}

/// Work on pages of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum StreamWork {
    /// The host sends them.
    Sent,
    /// They get a place in flash, from the host or the write buffer.
    Written,
    /// GC gives them another place.
    Moved,
}

/// A step of the ladder of reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Step {
    /// The first read.
    Hard,
    /// A read with other references.
    Retry,
    /// Two more reads, which tell two bits of each cell.
    Soft2,
    /// Four more, which tell three.
    Soft3,
}

impl Step {
    /// All steps with their names, in order.
    pub const ALL: [(Step, &'static str); 4] =
        [(Self::Hard, "hard"), (Self::Retry, "retry"), (Self::Soft2, "soft_2_bit"), (Self::Soft3, "soft_3_bit")];
}

/// Kinds of host requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum RequestKind {
    /// Read.
    #[default]
    Read,
    /// Write.
    Write,
    /// Flush.
    Flush,
    /// Discard.
    Discard,
}

impl RequestKind {
    /// All kinds with their names.
    pub const ALL: [(RequestKind, &'static str); 4] =
        [(Self::Read, "read"), (Self::Write, "write"), (Self::Flush, "flush"), (Self::Discard, "discard")];
}
