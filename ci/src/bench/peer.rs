//! Both ends of the connections that `bench network` measures: a server in the measuring process, and
//! a client that runs wherever it is started and prints what it measured.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

/// What one call moves.
const CHUNK: usize = 128 * 1024;

/// What a client wants, by its first byte.
mod wish {
    pub(super) const TAKE: u8 = b'T';
    pub(super) const GIVE: u8 = b'G';
    pub(super) const ECHO: u8 = b'E';
}

/// Serves on a free port of the loopback until the process ends; returns where.
pub(super) fn serve() -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            // A client that is gone is no matter of the server.
            thread::spawn(move || drop(answer(connection)));
        }
    });
    Ok(address)
}

fn answer(mut connection: TcpStream) -> Result<()> {
    connection.set_nodelay(true)?;
    let mut wish = [0];
    connection.read_exact(&mut wish)?;
    match wish {
        [wish::TAKE] => {
            drain(&mut connection)?;
            connection.write_all(&[0])?;
        }
        [wish::GIVE] => {
            let mut megabytes = [0; 4];
            connection.read_exact(&mut megabytes)?;
            fill(&mut connection, u32::from_le_bytes(megabytes))?;
        }
        _ => {
            let mut byte = [0];
            while connection.read(&mut byte)? == 1 {
                connection.write_all(&byte)?;
            }
        }
    }
    Ok(())
}

fn fill(to: &mut TcpStream, megabytes: u32) -> Result<()> {
    let chunk = vec![7; CHUNK];
    let chunks = u64::from(megabytes) * (1 << 20) / CHUNK as u64;
    (0..chunks).try_for_each(|_| to.write_all(&chunk))?;
    to.shutdown(Shutdown::Write)?;
    Ok(())
}

fn drain(from: &mut TcpStream) -> Result<usize> {
    let (mut chunk, mut all) = (vec![0; CHUNK], 0);
    loop {
        match from.read(&mut chunk)? {
            0 => return Ok(all),
            length => all += length,
        }
    }
}

/// `cargo ci peer WHAT ADDRESS NUMBER`: prints what it took, in microseconds.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let [what, address, number] = args else { bail!("peer WHAT ADDRESS NUMBER") };
    let (address, number) = (address.parse()?, number.parse().context("a number")?);
    let microseconds = match what.as_str() {
        "send" => send(address, number)?,
        "receive" => receive(address, number)?,
        "connect" => connect(address, number)?,
        "together" => together(address, number)?,
        other => bail!("nothing called {other}"),
    };
    println!("{microseconds}");
    Ok(())
}

fn micros(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e6
}

/// How long it takes to send megabytes, until the other side has them all.
fn send(address: SocketAddr, megabytes: u32) -> Result<f64> {
    let mut connection = TcpStream::connect(address)?;
    let start = Instant::now();
    connection.write_all(&[wish::TAKE])?;
    fill(&mut connection, megabytes)?;
    connection.read_exact(&mut [0])?;
    Ok(micros(start))
}

fn receive(address: SocketAddr, megabytes: u32) -> Result<f64> {
    let mut connection = TcpStream::connect(address)?;
    let start = Instant::now();
    connection.write_all(&[wish::GIVE])?;
    connection.write_all(&megabytes.to_le_bytes())?;
    let received = drain(&mut connection)?;
    ensure!(received == megabytes as usize * (1 << 20), "{received} bytes arrived");
    Ok(micros(start))
}

/// The median time from the wish to connect to the first byte that came back.
fn connect(address: SocketAddr, times: u32) -> Result<f64> {
    let mut took = Vec::new();
    for _ in 0..times {
        let start = Instant::now();
        let mut connection = TcpStream::connect(address)?;
        connection.set_nodelay(true)?;
        connection.write_all(&[wish::ECHO, 1])?;
        connection.read_exact(&mut [0])?;
        took.push(micros(start));
    }
    took.sort_by(f64::total_cmp);
    took.get(took.len() / 2).copied().context("no connection")
}

/// How long it takes until each of many connections at once has had an answer.
fn together(address: SocketAddr, connections: u32) -> Result<f64> {
    let start = Instant::now();
    let open = |_| {
        let mut connection = TcpStream::connect(address)?;
        connection.write_all(&[wish::ECHO])?;
        Ok(connection)
    };
    let mut open: Vec<TcpStream> = (0..connections).map(open).collect::<Result<_>>()?;
    for round in 0..3u8 {
        open.iter_mut().try_for_each(|connection| connection.write_all(&[round]))?;
        for connection in &mut open {
            let mut byte = [0];
            connection.read_exact(&mut byte)?;
            ensure!(byte == [round], "another byte came back");
        }
    }
    Ok(micros(start))
}
