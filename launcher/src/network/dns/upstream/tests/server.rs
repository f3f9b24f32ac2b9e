//! A name server on the loopback interface that answers as a test wants it.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

use super::asked::Asked;

/// What the server does.
pub(super) enum Does {
    /// Sends these bytes.
    Says(Vec<u8>),
    /// Sends these from another port.
    SaysFromElsewhere(Vec<u8>),
    /// Waits.
    Waits(Duration),
}

/// The server, until it is dropped.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    asked: Arc<AtomicUsize>,
    stops: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

type Answers = dyn Fn(&Asked) -> Vec<Does> + Send + Sync;

impl Server {
    pub(super) fn start(answers: impl Fn(&Asked) -> Vec<Does> + Send + Sync + 'static) -> Self {
        let (udp, tcp) = sockets();
        let address = udp.local_addr().unwrap();
        let asked = Arc::new(AtomicUsize::new(0));
        let stops = Arc::new(AtomicBool::new(false));
        let answers: Arc<Answers> = Arc::new(answers);
        let counted = {
            let asked = Arc::clone(&asked);
            Arc::new(move |question: &Asked| {
                asked.fetch_add(1, Ordering::SeqCst);
                answers(question)
            })
        };
        let threads = vec![
            spawn({
                let (stops, answers) = (Arc::clone(&stops), Arc::clone(&counted));
                move || while_going(&stops, || serve_udp(&udp, &*answers))
            }),
            spawn({
                let stops = Arc::clone(&stops);
                move || while_going(&stops, || serve_tcp(&tcp, &*counted))
            }),
        ];
        Self { address, asked, stops, threads }
    }

    /// How many questions arrived.
    pub(super) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stops.store(true, Ordering::SeqCst);
        for thread in self.threads.drain(..) {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the server failed");
        }
    }
}

/// Sockets of one port, both kinds.
fn sockets() -> (UdpSocket, TcpListener) {
    let local = (Ipv4Addr::LOCALHOST, 0);
    let pair = || {
        let udp = UdpSocket::bind(local).unwrap();
        let tcp = TcpListener::bind(udp.local_addr().unwrap()).ok()?;
        Some((udp, tcp))
    };
    let (udp, tcp) = (0..100).find_map(|_| pair()).expect("a port for both");
    udp.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
    tcp.set_nonblocking(true).unwrap();
    (udp, tcp)
}

fn while_going(stops: &AtomicBool, mut work: impl FnMut()) {
    while !stops.load(Ordering::SeqCst) {
        work();
    }
}

fn serve_udp(socket: &UdpSocket, answers: &Answers) {
    let mut buffer = [0; 1500];
    let Ok((length, from)) = socket.recv_from(&mut buffer) else { return };
    for does in answers(&Asked::new(&buffer[..length], false)) {
        match does {
            Does::Says(bytes) => drop(socket.send_to(&bytes, from)),
            Does::SaysFromElsewhere(bytes) => {
                let other = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
                drop(other.send_to(&bytes, from));
            }
            Does::Waits(time) => std::thread::sleep(time),
        }
    }
}

fn serve_tcp(listener: &TcpListener, answers: &Answers) {
    let mut stream = match listener.accept() {
        Ok((stream, _)) => stream,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
            return std::thread::sleep(Duration::from_millis(2));
        }
    };
    stream.set_nonblocking(false).unwrap();
    let mut length = [0; 2];
    if stream.read_exact(&mut length).is_err() {
        return;
    }
    let mut bytes = vec![0; usize::from(u16::from_be_bytes(length))];
    stream.read_exact(&mut bytes).unwrap();
    for does in answers(&Asked::new(&bytes, true)) {
        match does {
            // In two pieces, the length cut apart.
            Does::Says(bytes) => {
                let framed =
                    [&u16::try_from(bytes.len()).unwrap().to_be_bytes(), &bytes[..]].concat();
                drop(stream.write_all(&framed[..1]));
                std::thread::sleep(Duration::from_millis(5));
                drop(stream.write_all(&framed[1..]));
            }
            Does::SaysFromElsewhere(_) => {}
            Does::Waits(time) => std::thread::sleep(time),
        }
    }
}
