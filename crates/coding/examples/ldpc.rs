//! Scratch.
use flashkeep_coding::ldpc::*;
struct Rng(u64,u64,u64,u64);
impl Rng{fn new(s:u64)->Self{let mut st=s;let mut f=||{st=st.wrapping_add(0x9e37_79b9_7f4a_7c15);let mut z=st;z=(z^z>>30).wrapping_mul(0xbf58_476d_1ce4_e5b9);z=(z^z>>27).wrapping_mul(0x94d0_49bb_1331_11eb);z^z>>31};Rng(f(),f(),f(),f())}
fn next(&mut self)->u64{let r=self.1.wrapping_mul(5).rotate_left(7).wrapping_mul(9);let t=self.1<<17;self.2^=self.0;self.3^=self.1;self.1^=self.2;self.0^=self.3;self.2^=t;self.3=self.3.rotate_left(45);r}}
fn main(){
 let a:Vec<String>=std::env::args().collect();
 let t=std::time::Instant::now();
 let code=Code::find(&a[1]).unwrap();
 println!("{code:?} made in {:?}",t.elapsed());
 let stage=match a[2].as_str(){"hard"=>Stage::Hard,"2"=>Stage::TwoBit,_=>Stage::ThreeBit};
 let frames:u64=a[4].parse().unwrap();
 let flipping=a.get(5).is_none_or(|f|f!="noflip");
 let kernel=Kernel::available().into_iter().find(|k|a.get(6).is_none_or(|n|n==k.name())).unwrap();
 for rber in a[3].split(','){
 let ch=Channel::new(stage,rber.parse().unwrap());
 println!("{ch:?} info {}",ch.information());
 let mut rng=Rng::new(1);
 let (nd,np)=(code.data_bytes(),code.parity_bytes());
 let mut ws=Workspace::default();
 let (mut fails,mut wrong,mut its,mut flips,mut byflip,mut errs)=(0u64,0u64,0u64,0u64,0u64,0u64);
 let mut dt=0f64; let mut et=0f64;
 let limits=Limits{flipping,..Limits::default()};
 for _ in 0..frames{
  let mut word=vec![0u8;nd+np];
  for c in word[..nd].chunks_mut(8){c.copy_from_slice(&rng.next().to_le_bytes());}
  let (d,p)=word.split_at_mut(nd);
  let t=std::time::Instant::now();
  code.encode_with(kernel,d,p,&mut ws);
  et+=t.elapsed().as_secs_f64();
  debug_assert!(code.holds(d,p,&mut ws));
  let mut read=word.clone(); let mut lo=vec![0u8;nd+np]; let mut hi=lo.clone();
  for i in (0..read.len()).step_by(8){
   let w=ch.draw_wrong(&mut||rng.next()); errs+=u64::from(w.count_ones());
   let pl=ch.draw_degrees(w,&mut||rng.next());
   for k in 0..8{read[i+k]^=w.to_le_bytes()[k];lo[i+k]=pl[0].to_le_bytes()[k];hi[i+k]=pl[1].to_le_bytes()[k];}
  }
  let (d,p)=read.split_at_mut(nd);
  let t=std::time::Instant::now();
  let o=code.decode_with(kernel,d,p,ch.soft(&lo,&hi),&limits,&mut ws);
  dt+=t.elapsed().as_secs_f64();
  match o{Ok(o)=>{if read!=word{wrong+=1}; if o.iterations==0{byflip+=1;flips+=u64::from(o.flips)} else {its+=u64::from(o.iterations)}},Err(_)=>{fails+=1}}
 }
 let f=frames as f64;
 println!("rber {rber}: measured {:.3e} fails {fails} ({:.2e}) wrong {wrong}; by flipping {byflip} rounds {:.2}; min-sum {} its {:.2}; decode {:.2} us {:.0} MB/s; encode {:.2} us {:.0} MB/s",
  errs as f64/f/code.bits() as f64, fails as f64/f, flips as f64/byflip.max(1) as f64, frames-byflip-fails, its as f64/(frames-byflip-fails).max(1) as f64, dt/f*1e6, nd as f64*f/dt/1e6, et/f*1e6, nd as f64*f/et/1e6);
 }
}
