//! Connections of clients. nbdkit lets a plugin end none but that of the thread which it is called in, so they are looked for among the
//! open files of the process: a socket that was accepted where clients come in has that address as its own.

use std::mem::ManuallyDrop;
use std::net::{Shutdown, TcpStream};
use std::os::fd::{FromRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

/// Where clients come in.
pub enum Door {
    /// At a Unix socket.
    Socket(PathBuf),
    /// At a port of TCP.
    Port(u16),
}

/// A connection. The file is nbdkit's, which closes it.
enum Connection {
    Unix(ManuallyDrop<UnixStream>),
    Tcp(ManuallyDrop<TcpStream>),
}

impl Connection {
    fn shut_down(&self, how: Shutdown) {
        // One that is gone already needs nothing.
        let _ = match self {
            Self::Unix(stream) => stream.shutdown(how),
            Self::Tcp(stream) => stream.shutdown(how),
        };
    }
}

impl Door {
    /// The connection that an open file is, if it came in here. A socket that listens has no peer.
    fn connection(&self, file: RawFd) -> Option<Connection> {
        match self {
            Self::Socket(path) => {
                // SAFETY: it is asked for its addresses, which any open file may be, and never closed here.
                let stream = ManuallyDrop::new(unsafe { UnixStream::from_raw_fd(file) });
                let is_ours = stream.local_addr().is_ok_and(|own| own.as_pathname() == Some(path)) && stream.peer_addr().is_ok();
                is_ours.then_some(Connection::Unix(stream))
            }
            Self::Port(port) => {
                // SAFETY: as above.
                let stream = ManuallyDrop::new(unsafe { TcpStream::from_raw_fd(file) });
                let is_ours = stream.local_addr().is_ok_and(|own| own.port() == *port) && stream.peer_addr().is_ok();
                is_ours.then_some(Connection::Tcp(stream))
            }
        }
    }

    fn connections(&self) -> Vec<Connection> {
        let files = std::fs::read_dir("/dev/fd").into_iter().flatten().flatten();
        let numbers: Vec<RawFd> = files.filter_map(|file| file.file_name().to_str()?.parse().ok()).collect();
        numbers.into_iter().filter_map(|file| self.connection(file)).collect()
    }
}

impl serve::Clients for Door {
    fn count(&self) -> usize {
        self.connections().len()
    }

    /// nbdkit reads the end of the connection, lets requests under way be answered, and closes it.
    fn let_go(&self) {
        self.connections().iter().for_each(|connection| connection.shut_down(Shutdown::Read));
    }

    fn cut_off(&self) {
        self.connections().iter().for_each(|connection| connection.shut_down(Shutdown::Both));
    }

    fn end(&self) {
        crate::abi::shutdown();
    }
}
