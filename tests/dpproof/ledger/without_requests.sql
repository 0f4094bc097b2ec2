BEGIN TRANSACTION;
CREATE TABLE certificates (digest VARCHAR(64) PRIMARY KEY, body TEXT NOT NULL);
INSERT INTO "certificates" VALUES('d1795fc26328d5bf5170c6271a93b1ed6a5a43bc50e63bc1a4c306d627ad0fa4','{"format": "dpproof-certificate",
"version": 1,
"claim": {"notion": "zcdp", "rho": "1/50", "relation": "add-remove", "steps": 1},
"steps": [
{"rule": "state/zcdp", "premises": [], "witness": {}, "conclusion": {"notion": "zcdp", "rho": "1/50", "relation": "add-remove", "steps": 1}}
]}
');
INSERT INTO "certificates" VALUES('85a7eb2da83b079270700ecdbdef429974ef108ea89a692fab6ab0c18df407c7','{"format": "dpproof-certificate",
"version": 1,
"claim": {"notion": "approx-dp", "epsilon": "9286693093969391075993875/9671406556917033397649408", "delta": "1/4194304", "relation": "add-remove", "steps": 1},
"steps": [
{"rule": "state/zcdp", "premises": [], "witness": {}, "conclusion": {"notion": "zcdp", "rho": "1/50", "relation": "add-remove", "steps": 1}},
{"rule": "convert/renyi-approx", "premises": [0], "witness": {"order": "3589573584822805/140737488355328"}, "conclusion": {"notion": "approx-dp", "epsilon": "9286693093969391075993875/9671406556917033397649408", "delta": "1/4194304", "relation": "add-remove", "steps": 1}}
]}
');
INSERT INTO "certificates" VALUES('485886a1d7a76a736fd87e3b22b10f5166a3045dec9a3b16cd6cf759139cb7f0','{"format": "dpproof-certificate",
"version": 1,
"claim": {"notion": "approx-dp", "epsilon": "9556557139181769043211625/9671406556917033397649408", "delta": "1/8388608", "relation": "add-remove", "steps": 1},
"steps": [
{"rule": "state/zcdp", "premises": [], "witness": {}, "conclusion": {"notion": "zcdp", "rho": "1/50", "relation": "add-remove", "steps": 1}},
{"rule": "convert/renyi-approx", "premises": [0], "witness": {"order": "3684068712562639/140737488355328"}, "conclusion": {"notion": "approx-dp", "epsilon": "9556557139181769043211625/9671406556917033397649408", "delta": "1/8388608", "relation": "add-remove", "steps": 1}}
]}
');
CREATE TABLE entries (number INTEGER PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL);
INSERT INTO "entries" VALUES(1,'{"entry":{"kind":"create","opened":{"[null,null]":{"goal":{"delta":"1/1000000","epsilon":"3","notion":"approx-dp"},"limits":null,"refused":{},"spent":{}}},"time":"2026-11-24T04:00:19.507+00:00"},"state":"eeec1886e2f65fd86ed0ba10c57475241b032440b136028c693497614a3ba532"}','0f295e30bf3abc1bdca87d2327c33674ffa83df0db5d1c9c92105e09f8442e54');
INSERT INTO "entries" VALUES(2,'{"entry":{"kind":"limit","opened":{"[\"patients\",null]":{"goal":{"notion":"zcdp","rho":"1"},"limits":{"zcdp":["1"]},"refused":{},"spent":{}}},"time":"2026-11-24T04:00:19.529+00:00"},"state":"3dd342ace0dcc5a77495d358189cb664e990d33950fd29bba5c2766461bc2eef"}','deaf5dbe50c6edd2b00c74661f8f6361d2c6a98651ba81eb5463f53628e7f2d1');
INSERT INTO "entries" VALUES(3,'{"entry":{"certificates":{"[\"patients\",null]":{"zcdp":"d1795fc26328d5bf5170c6271a93b1ed6a5a43bc50e63bc1a4c306d627ad0fa4"},"[null,null]":{"basic":"85a7eb2da83b079270700ecdbdef429974ef108ea89a692fab6ab0c18df407c7","zcdp":"d1795fc26328d5bf5170c6271a93b1ed6a5a43bc50e63bc1a4c306d627ad0fa4"}},"dataset":"patients","guarantee":"0.02-zCDP","key":"first","kind":"spend","label":"","limits":{"[\"patients\",null]":{"zcdp":["1"]},"[null,null]":{"basic":["3","1/1500000"],"zcdp":["3462371829535744291199527627225/20282409603651670423947251286016"]}},"principal":"ann","taken":{"[\"patients\",null]":{"zcdp":["1/50"]},"[null,null]":{"basic":["9286693093969391075993875/9671406556917033397649408","1/4194304"],"zcdp":["1/50"]}},"time":"2026-11-24T04:00:20.351+00:00"},"state":"c7ba0098be7b182a5849d6656188a13d81179709934ea147f8dc83fda882f4a5"}','e4f5c27fc1d7ba50945a9145090a8f55eafa3cc66536fd2c91724d7fbe7d15ef');
INSERT INTO "entries" VALUES(4,'{"entry":{"certificates":{"[null,null]":{"basic":"485886a1d7a76a736fd87e3b22b10f5166a3045dec9a3b16cd6cf759139cb7f0","zcdp":"d1795fc26328d5bf5170c6271a93b1ed6a5a43bc50e63bc1a4c306d627ad0fa4"}},"dataset":"other","guarantee":"0.02-zCDP","key":"second","kind":"reserve","label":"","limits":{"[null,null]":{"basic":["3","1/1500000"],"zcdp":["3462371829535744291199527627225/20282409603651670423947251286016"]}},"principal":null,"taken":{"[null,null]":{"basic":["9556557139181769043211625/9671406556917033397649408","1/8388608"],"zcdp":["1/50"]}},"time":"2026-11-24T04:00:20.395+00:00"},"state":"0826579d2e8ef49b72b73b4ce684334d13c5ff88f88e238a901c3bfcbca94e34"}','9cc066ce612f4adb10d1d161c4c4117073fdbd2eee72cd4023b6267783f66d34');
CREATE TABLE head (id INTEGER PRIMARY KEY, number INTEGER NOT NULL, state TEXT NOT NULL);
INSERT INTO "head" VALUES(1,4,'{"budgets":{"[\"patients\",null]":{"goal":{"notion":"zcdp","rho":"1"},"limits":{"zcdp":["1"]},"refused":{},"spent":{"zcdp":["1/50"]}},"[null,null]":{"goal":{"delta":"1/1000000","epsilon":"3","notion":"approx-dp"},"limits":{"basic":["3","1/1500000"],"zcdp":["3462371829535744291199527627225/20282409603651670423947251286016"]},"refused":{},"spent":{"basic":["4710812558287790029801375/2417851639229258349412352","3/8388608"],"zcdp":["1/25"]}}},"relation":"add-remove","seen":[["patients","ann"],["other",null]]}');
CREATE TABLE spends (name VARCHAR(200) PRIMARY KEY, digest TEXT NOT NULL,
    status TEXT NOT NULL, owner TEXT NOT NULL, number INTEGER NOT NULL);
INSERT INTO "spends" VALUES('first','b894cfde0a7d2812fd9a2fa51176d3b9a63320bdf92d37d5b3e8957ff57889dd','committed','90d62dd499af49f68824dcfca5f1a163',3);
INSERT INTO "spends" VALUES('second','017d8c514e1c7ff9e4b30755f98e2ee202069debc0b291d44d440d79aeaed657','pending','e44c16ee22ca4cfea459f4678e6109b2',4);
COMMIT;
