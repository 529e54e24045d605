//! Scratch bench.
#![allow(missing_docs, clippy::all, clippy::pedantic, clippy::print_stdout, clippy::disallowed_methods)]
use flashkeep_coding::ldpc::*;
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
fn main(){
 for name in std::env::args().skip(1).filter(|a|a.starts_with("ldpc")) { let name=name.as_str();
 let code=Code::find(name).unwrap();
 let (nd,np)=(code.data_bytes(),code.parity_bytes());
 let mut ws=Workspace::default();
 for kernel in Kernel::available(){
  let mut line=format!("{name} {:9}",kernel.name());
  for (rber,flipping) in [(0.0,true),(2e-3,true),(2e-3,false),(4e-3,true),(4e-3,false),(6e-3,false),(3e-2,false)] {
   
   let ch=Channel::new(Stage::Hard,rber);
   let mut s=7;
   let words:Vec<Vec<u8>>=(0..64).map(|_|{ let mut word=vec![0u8;nd+np];
    for c in word[..nd].chunks_mut(8){c.copy_from_slice(&random(&mut s).to_le_bytes());}
    let (d,p)=word.split_at_mut(nd); code.encode_with(kernel,d,p,&mut ws);
    for c in word.chunks_mut(8){let w=ch.draw_wrong(&mut||random(&mut s)); for k in 0..8{c[k]^=w.to_le_bytes()[k]}} word}).collect();
   let limits=Limits{flipping,..Limits::default()};
   let mut best=f64::INFINITY;
   let mut work=words.clone();
   for _ in 0..40 {
    for (w,o) in work.iter_mut().zip(&words){w.copy_from_slice(o)}
    let t=std::time::Instant::now();
    for w in &mut work { let (d,p)=w.split_at_mut(nd); let _=code.decode_with(kernel,d,p,Soft::Hard,&limits,&mut ws); }
    best=best.min(t.elapsed().as_secs_f64()/64.0);
   }
   line+=&format!(" | {rber}{} {:.2}us {:.0}MB/s",if flipping {"f"} else {""},best*1e6,nd as f64/best/1e6);
  }
  let data=vec![0x5au8;nd]; let mut par=vec![0;np];
  let mut best=f64::INFINITY;
  for _ in 0..200 { let t=std::time::Instant::now(); for _ in 0..32 {code.encode_with(kernel,std::hint::black_box(&data),&mut par,&mut ws);} best=best.min(t.elapsed().as_secs_f64()/32.0);}
  line+=&format!(" | enc {:.2}us {:.0}MB/s",best*1e6,nd as f64/best/1e6);
  println!("{line}");
 }}
}
