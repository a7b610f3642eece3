-- A database that version 47bc1c2 wrote on SQLite, for Upgrade.test.ts. 47bc1c2.json has its API
-- keys, and the requests and answers of its stored answers. The program ran with the provider
-- sandbox, and once with dataset, for fractions. A kill -9 in mid request left the two holds.

CREATE TABLE "effect_sql_migrations" (
  migration_id integer PRIMARY KEY NOT NULL,
  created_at datetime NOT NULL DEFAULT current_timestamp,
  name VARCHAR(255) NOT NULL
);

CREATE TABLE accounts (
  id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  created_at BIGINT NOT NULL
);

CREATE TABLE api_keys (
  id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  label TEXT,
  hash TEXT NOT NULL UNIQUE,
  start TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  lifetime_ms BIGINT,
  revoked_at BIGINT,
  last_used_at BIGINT
);

CREATE TABLE balances (
  account_id TEXT NOT NULL PRIMARY KEY REFERENCES accounts (id),
  granted BIGINT NOT NULL,
  charged BIGINT NOT NULL,
  held BIGINT NOT NULL,
  entries BIGINT NOT NULL,
  head TEXT NOT NULL,
  CHECK (charged >= 0 AND held >= 0 AND charged + held <= granted)
) WITHOUT ROWID;

CREATE TABLE holds (
  request_id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  amount BIGINT NOT NULL CHECK (amount > 0),
  expires_at BIGINT NOT NULL
) WITHOUT ROWID;

CREATE TABLE entries (
  account_id TEXT NOT NULL REFERENCES accounts (id),
  sequence BIGINT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('grant', 'charge')),
  amount BIGINT NOT NULL CHECK (amount > 0),
  balance_after BIGINT NOT NULL CHECK (balance_after >= 0),
  request_id TEXT UNIQUE,
  urls BIGINT,
  note TEXT,
  at BIGINT NOT NULL,
  hash TEXT NOT NULL,
  PRIMARY KEY (account_id, sequence)
) WITHOUT ROWID;

CREATE TABLE receipts (
  account_id TEXT NOT NULL REFERENCES accounts (id),
  key TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  request_id TEXT NOT NULL,
  body TEXT,
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (account_id, key)
);

CREATE TABLE figures (
  provider TEXT NOT NULL,
  page TEXT NOT NULL,
  domain_authority DOUBLE PRECISION NOT NULL,
  page_authority DOUBLE PRECISION NOT NULL,
  spam_score DOUBLE PRECISION,
  fetched_at BIGINT NOT NULL,
  PRIMARY KEY (provider, page)
);

CREATE TABLE ranks_0 (
  name TEXT NOT NULL PRIMARY KEY,
  rank BIGINT NOT NULL
) WITHOUT ROWID;

CREATE TABLE ranks_1 (
  name TEXT NOT NULL PRIMARY KEY,
  rank BIGINT NOT NULL
) WITHOUT ROWID;

CREATE TABLE ranking (
  id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
  list BIGINT CHECK (list IN (0, 1)),
  importing BIGINT
);

CREATE INDEX api_keys_by_account ON api_keys (account_id, created_at);
CREATE INDEX receipts_by_expiry ON receipts (expires_at);
CREATE INDEX holds_by_expiry ON holds (expires_at);
CREATE INDEX figures_by_age ON figures (fetched_at);

INSERT INTO effect_sql_migrations (migration_id, created_at, name) VALUES
  (1, '2026-11-23 00:26:14', 'accounts_keys_ledger'),
  (2, '2026-11-23 00:26:14', 'receipts'),
  (3, '2026-11-23 00:26:14', 'figures'),
  (4, '2026-11-23 00:26:14', 'rankings');

INSERT INTO accounts (id, name, created_at) VALUES
  ('01a205cb-d864-7555-a3ff-8be7708efbf7', 'acme', 1795393575014),
  ('01a205cb-ddd3-71a6-9b54-39d3b67a43f4', 'globex', 1795393576407),
  ('01a205cb-e359-71f0-bd7a-da03794adc35', 'initech', 1795393577821);

INSERT INTO api_keys (id, account_id, label, hash, start, created_at, expires_at, lifetime_ms, revoked_at, last_used_at) VALUES
  ('01a205cb-ede5-7611-a02b-e8ac50ab8ef5', '01a205cb-d864-7555-a3ff-8be7708efbf7', 'shop', 'd8a09b07e674b548f1ad4894196ff485cfd632e6034d7f2f36cf766549258dc5', 'am_u0baX7', 1795393580516, NULL, NULL, NULL, 1795393598222),
  ('01a205cb-f40f-766c-91d5-089178aaa3d7', '01a205cb-d864-7555-a3ff-8be7708efbf7', 'búsqueda', 'a94e8ba1c1f8f934d8ef3c697fff68b78bde2ad06a1b33ab9e305b0fca0dc1a1', 'am_VyZJym', 1795393582093, 2110753582093, 315360000000, NULL, 1795393595049),
  ('01a205cb-f9be-70df-9fee-ee258f4e206d', '01a205cb-d864-7555-a3ff-8be7708efbf7', NULL, '9cd454c2325137b23e5bfcccc19bdfae48688c46b0f84d4a329ca546d5011254', 'am_pBimBD', 1795393583549, 1795393584549, 1000, NULL, NULL),
  ('01a205cb-ff94-7304-8c83-874f88fe316c', '01a205cb-d864-7555-a3ff-8be7708efbf7', NULL, '43dd287a4f56b7462a3bd0e279ba0365fa1ebc48b66bfd2dff42c16c4857d9f0', 'am_4lRVzF', 1795393585042, NULL, NULL, 1795393586569, NULL),
  ('01a205cc-0c3c-7288-b48a-cd4312e363d6', '01a205cb-ddd3-71a6-9b54-39d3b67a43f4', 'crawler', '4d5d2e10a7739e4602e63c9edddfc77562cdd7be771608484148cf210045a569', 'am_517qlR', 1795393588283, 1795393590717, NULL, NULL, NULL),
  ('01a205cc-11db-758c-859f-a94c3812116c', '01a205cb-ddd3-71a6-9b54-39d3b67a43f4', 'crawler', '55847513821df8c2ab52fccf53a59c226c0fe33acf0cf901d553b3d3efa2e208', 'am_IHDsS1', 1795393589717, NULL, NULL, NULL, 1795393595075),
  ('01a205cc-177b-777e-b5e8-98d1a474e35a', '01a205cb-e359-71f0-bd7a-da03794adc35', NULL, 'bc786efdc9606c5399cb757359df7d7c7d4a22dffeebfc0a8a05f33d923d644f', 'am_Nzo1pH', 1795393591161, NULL, NULL, NULL, NULL);

INSERT INTO balances (account_id, granted, charged, held, entries, head) VALUES
  ('01a205cb-d864-7555-a3ff-8be7708efbf7', 1500, 21, 2, 11, '294d52fa24d7f50db3b70858a787900d0dc391a17e68c2bceb735a84a4b5432c'),
  ('01a205cb-ddd3-71a6-9b54-39d3b67a43f4', 25, 3, 1, 3, '55f2928fc07f4e0c61156c1c5ffb898326b2d5ba03de9d8d4263915b02bf4171'),
  ('01a205cb-e359-71f0-bd7a-da03794adc35', 0, 0, 0, 0, '');

INSERT INTO holds (request_id, account_id, amount, expires_at) VALUES
  ('01a205cc-3d4f-7265-90e3-ffa13058d3af', '01a205cb-d864-7555-a3ff-8be7708efbf7', 2, 1795393660854),
  ('01a205cc-3d55-71fe-9b70-e0fd3f393c1b', '01a205cb-ddd3-71a6-9b54-39d3b67a43f4', 1, 1795393660854);

INSERT INTO entries (account_id, sequence, kind, amount, balance_after, request_id, urls, note, at, hash) VALUES
  ('01a205cb-d864-7555-a3ff-8be7708efbf7', 1, 'grant', 1000, 1000, NULL, NULL, 'opening grant', 1795393575020, 'fe4c6ab545dd52ef46c54f506fb6a44f42912301311f4f274ff121690f734501'),
  ('01a205cb-d864-7555-a3ff-8be7708efbf7', 2, 'grant', 500, 1500, NULL, NULL, 'invoice 2, März “gross”', 1795393579156, '349392afd388bdc3636c83bed65d7e27cac2d04aa03d79050ef6b27bdd5576f0'),
  ('01a205cb-d864-7555-a3ff-8be7708efbf7', 3, 'charge', 2, 1498, '01a205cc-265c-729f-8763-b37eb735b999', 2, NULL, 1795393595018, '14623ea2c1959e13a734de337009b166540bbe84e67258298e7aebc45f557fce'),
  ('01a205cb-d864-7555-a3ff-8be7708efbf7', 4, 'charge', 2, 1496, '01a205cc-26a7-76dc-824f-9075afe92f62', 2, NULL, 1795393595061, 'ede72a1c37ed9aa7018e9067ed5d58478a05eda3362e78db7236f9e05379188c'),
  ('01a205cb-d864-7555-a3ff-8be7708efbf7', 5, 'charge', 1, 1495, '01a205cc-26d9-705c-b6ea-83fd06ac5731', 1, NULL, 1795393595117, '5d1075f3512b38ec3bb09baf0db42f90a5066ef19480770ebcb5e5cd40fc2218'),
  ('01a205cb-d864-7555-a3ff-8be7708efbf7', 6, 'charge', 3, 1492, '01a205cc-26fe-72c1-9368-d891dc04c5fc', 3, NULL, 1795393595155, '18ad68009f119daa599fe126ef9409aefa3860ab78155b616e87723f8f0c408e'),
  ('01a205cb-d864-7555-a3ff-8be7708efbf7', 7, 'charge', 2, 1490, '01a205cc-272c-73f6-9329-3d843a73737a', 2, NULL, 1795393595200, '79629484e4b4ea8fb5b7e62ec1f74320adad1c293b74b88a3fefbcc7f3f78ff3'),
  ('01a205cb-d864-7555-a3ff-8be7708efbf7', 8, 'charge', 3, 1487, '01a205cc-275a-71bb-a24a-d8204c5aa801', 3, NULL, 1795393595240, 'c10cae5b2c5de0ebada3963dcf7bd819f4c1315c3d12d2c2f395fdadb29a9bb2'),
  ('01a205cb-d864-7555-a3ff-8be7708efbf7', 9, 'charge', 5, 1482, '01a205cc-27ac-71de-bf83-518b1bd4c3f3', 5, NULL, 1795393595336, 'f1d4428072af87f3778ad9294ebc4d78185219a3609723a8a0f75290cc331918'),
  ('01a205cb-d864-7555-a3ff-8be7708efbf7', 10, 'charge', 1, 1481, '01a205cc-27d9-76e4-a540-159f2f4a700c', 1, NULL, 1795393595372, '29a75302101781c5987548fef59b44d6d86950c35d96606cc108120fc4819051'),
  ('01a205cb-d864-7555-a3ff-8be7708efbf7', 11, 'charge', 2, 1479, '01a205cc-3308-7270-896e-76f1b981c249', 2, NULL, 1795393598254, '294d52fa24d7f50db3b70858a787900d0dc391a17e68c2bceb735a84a4b5432c'),
  ('01a205cb-ddd3-71a6-9b54-39d3b67a43f4', 1, 'grant', 25, 25, NULL, NULL, 'opening grant', 1795393576426, 'ced70e38a29bdccb53a79bca22e9f160a18b52f8300c167392154feef262a614'),
  ('01a205cb-ddd3-71a6-9b54-39d3b67a43f4', 2, 'charge', 1, 24, '01a205cc-26c1-73e9-a017-fe019630e9fe', 1, NULL, 1795393595084, '9642efd03bed803c80ada94dd6bf7415c010d94a9fe6ecd97d9fb360848a5ee6'),
  ('01a205cb-ddd3-71a6-9b54-39d3b67a43f4', 3, 'charge', 2, 22, '01a205cc-27f5-75c3-9b12-69b60a6d7318', 2, NULL, 1795393595387, '55f2928fc07f4e0c61156c1c5ffb898326b2d5ba03de9d8d4263915b02bf4171');

INSERT INTO receipts (account_id, key, fingerprint, request_id, body, expires_at) VALUES
  ('01a205cb-d864-7555-a3ff-8be7708efbf7', 'order-1', 'c3c82cd0cb9eeacec41e548d9a81c6f972b3468ec1db6be0740ab8444549608d', '01a205cc-26d9-705c-b6ea-83fd06ac5731', '{"creditsUsed":1,"outcomes":[[50,29,4]]}', 1795479995117),
  ('01a205cb-d864-7555-a3ff-8be7708efbf7', 'order-2', 'f2ec9534cc03b2bc712b6ef8af42b48831d6ee4eae6aca51510cfd5706d859f4', '01a205cc-26fe-72c1-9368-d891dc04c5fc', '{"creditsUsed":3,"outcomes":[[16,18,88],[50,71,4],[50,29,4]]}', 1795479995155),
  ('01a205cb-d864-7555-a3ff-8be7708efbf7', 'in quotes, with "quotes" and \', '5e49e44e1b805f1fa9aa50499c1ac9abbffddedd892bfa82920f76ea2f1aaf73', '01a205cc-272c-73f6-9329-3d843a73737a', '{"creditsUsed":2,"outcomes":[[50,29,4],[50,29,4]]}', 1795479995200),
  ('01a205cb-d864-7555-a3ff-8be7708efbf7', 'some-fail', 'f4c58af9ab617b57e478fff4312badad6e264c0b4005bf6cff45b07c655d5890', '01a205cc-275a-71bb-a24a-d8204c5aa801', '{"creditsUsed":3,"outcomes":["INVALID_URL",[68,55,50],"PROVIDER_ERROR","INVALID_URL","SERVER_ERROR",[50,42],[68,55,50],"INVALID_URL"]}', 1795479995240),
  ('01a205cb-d864-7555-a3ff-8be7708efbf7', 'none-succeeds', '9723985d3f74d777b5e72e21e8c6ceb8db2207bdc7c96d5131f1b33d88a09062', '01a205cc-277a-75a4-8e4f-525e943557b4', '{"creditsUsed":0,"outcomes":["PROVIDER_ERROR","SERVER_ERROR","INVALID_URL"]}', 1795479995272),
  ('01a205cb-d864-7555-a3ff-8be7708efbf7', 'only-invalid', '677844543ad2a674dc7675a4a0e2e3a18e147f39c9e1e7806169ec40ec2f8caf', '01a205cc-279a-739e-9ab9-e05effb4e0cc', '{"creditsUsed":0,"outcomes":["INVALID_URL","INVALID_URL","INVALID_URL"]}', 1795479995295),
  ('01a205cb-d864-7555-a3ff-8be7708efbf7', 'not-ascii', 'd74978581fdb540e2504d17d122a43dce0e5764715af1a92cd734df85df8f00b', '01a205cc-27ac-71de-bf83-518b1bd4c3f3', '{"creditsUsed":5,"outcomes":[[100,80,36],[50,68,64],[50,47,4],[50,67,4],[50,2,4],"INVALID_URL"]}', 1795479995336),
  ('01a205cb-d864-7555-a3ff-8be7708efbf7', '8e03978e-40d5-43dd-bc93-6894a57f9324', 'eb69d768c1c0f46e92172cd556acffde44231564562118bf689d675fcbc5d163', '01a205cc-27d9-76e4-a540-159f2f4a700c', '{"creditsUsed":1,"outcomes":[[50,37]]}', 1795479995372),
  ('01a205cb-ddd3-71a6-9b54-39d3b67a43f4', 'order-1', 'f205e9cb0ae95956986d99fde876b28954799c23083c9d5431ba0f4c5c4f4d60', '01a205cc-27f5-75c3-9b12-69b60a6d7318', '{"creditsUsed":2,"outcomes":[[87,41,66],[88,4,27]]}', 1795479995387),
  ('01a205cb-d864-7555-a3ff-8be7708efbf7', 'fractions', '5ac9361f07d4f7d085cef8567651e97b44737533f0c8b17ae01401277183faea', '01a205cc-3308-7270-896e-76f1b981c249', '{"creditsUsed":2,"outcomes":[[89.44,89.44],[73.88,73.88],"PROVIDER_ERROR"]}', 1795479998254),
  ('01a205cb-d864-7555-a3ff-8be7708efbf7', 'abandoned', 'c95d71d429d3cd4913cfeae2c4c908004a77a6b6dfa91bae50aec890db43aae7', '01a205cc-3d4f-7265-90e3-ffa13058d3af', NULL, 1795393660850);

INSERT INTO ranks_0 (name, rank) VALUES
  ('google.com', 1),
  ('wikipedia.org', 7),
  ('example.com', 123);

INSERT INTO ranking (id, list, importing) VALUES
  (1, 0, NULL);
