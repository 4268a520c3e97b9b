"""Adds PyTorch's answers for grid_sample to tests/data/ops, computed in f64. Needs torch and numpy.

It appends to what is there: run it on files that have no case of grid_sample yet. The answers in the repository were made
with torch 2.15.
"""

import json

import torch
import torch.nn.functional as F
import struct
import os
D = os.path.join(os.path.dirname(__file__), '..', 'tests', 'data', 'ops', '')
torch.manual_seed(7)
raw=open(D+'ops.safetensors','rb').read()
n=struct.unpack('<Q',raw[:8])[0]; hdr=json.loads(raw[8:8+n]); data=raw[8+n:]
end=max(v['data_offsets'][1] for k,v in hdr.items() if k!='__metadata__'); assert end==len(data)
lines=open(D+'index.jsonl').read()
nan,inf=float('nan'),float('inf')
new=[]; extra=b''
i=0
shapes4=[((2,17,4,6),(3,5)),((1,3,5,7),(4,4)),((2,16,1,1),(2,5)),((1,33,6,4),(2,7))]
shapes5=[((1,17,2,3,4),(2,2,3)),((2,3,3,2,5),(1,3,3)),((1,16,1,4,3),(2,2,3))]
todo=[(m,p,a,4) for m in ('bilinear','nearest','bicubic') for p in ('zeros','border','reflection') for a in (False,True)]
todo+=[(m,p,a,5) for m in ('bilinear','nearest') for p in ('zeros','border','reflection') for a in (False,True)]
for m,p,a,r in todo:
    sh,out=(shapes4 if r==4 else shapes5)[i%(4 if r==4 else 3)]
    x=torch.randn(sh)
    g=(torch.rand((sh[0],)+out+(r-2,))*3.4-1.7)
    flat=g.view(sh[0],-1,r-2)
    flat[:,0]=-1.; flat[:,1]=1.; flat[:,2]=0.
    flat[-1,3]=torch.tensor([nan]+[.1]*(r-3)); flat[-1,4]=torch.tensor([.23,inf]+[.1]*(r-4)); flat[-1,5]=torch.tensor([-inf]+[-.3]*(r-3)); flat[-1,6,0]=-5.25
    y=F.grid_sample(x.double(),g.double(),m,p,a).float()
    y32=F.grid_sample(x,g,m,p,a)
    if not torch.allclose(y,y32,1e-4,1e-5,equal_nan=True):
        k=(y!=y32).nonzero()[0].tolist(); print(i,sh,k,g[k[0]][tuple(k[2:])].tolist())
        cs=g[k[0]][tuple(k[2:])]
        print([((c+1)*s-1)/2 for c,s in zip(cs,reversed(sh[2:]))])
    assert torch.allclose(y,y32,1e-4,1e-5,equal_nan=True),(m,p,a,(y-y32).abs().max())
    if m=='nearest': assert torch.equal(y,y32)
    case=f'grid_sample.{i}'; t={}
    for k,v in dict(x=x,grid=g,y=y).items():
        b=v.contiguous().numpy().astype('<f4').tobytes()
        hdr[f'{case}.{k}']={'dtype':'F32','shape':list(v.shape),'data_offsets':[len(data)+len(extra),len(data)+len(extra)+len(b)]}
        extra+=b; t[k]=list(v.shape)
    new.append(json.dumps({'case':case,'op':'grid_sample','params':{'mode':m,'padding_mode':p,'align_corners':a},'tensors':t}))
    i+=1
h=json.dumps(hdr,separators=(',',':')).encode(); h+=b' '*(-len(h)%8)
open(D+'ops.safetensors','wb').write(struct.pack('<Q',len(h))+h+data+extra)
if not lines.endswith('\n'): lines+='\n'
open(D+'index.jsonl','w').write(lines+'\n'.join(new)+'\n')
print(len(new),len(extra))
