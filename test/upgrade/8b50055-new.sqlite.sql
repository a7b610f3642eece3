-- A database of schema 16 that version 8b50055 wrote on SQLite, for Upgrade.test.ts.
-- The database was new.
-- 8b50055-new.json has its API keys, and the requests and answers of its stored answers. The
-- program ran with a fake of Moz. A kill -9 in mid request left the two holds.

PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE effect_sql_migrations (
          migration_id INTEGER PRIMARY KEY NOT NULL,
          created_at DATETIME NOT NULL DEFAULT current_timestamp,
          name VARCHAR(255) NOT NULL
        );
INSERT INTO effect_sql_migrations VALUES(1,'2026-11-27 21:07:07','accounts_keys_ledger');
INSERT INTO effect_sql_migrations VALUES(2,'2026-11-27 21:07:07','receipts');
INSERT INTO effect_sql_migrations VALUES(3,'2026-11-27 21:07:07','figures');
INSERT INTO effect_sql_migrations VALUES(4,'2026-11-27 21:07:07','rankings');
INSERT INTO effect_sql_migrations VALUES(5,'2026-11-27 21:07:07','processes');
INSERT INTO effect_sql_migrations VALUES(6,'2026-11-27 21:07:07','origins');
INSERT INTO effect_sql_migrations VALUES(7,'2026-11-27 21:07:07','imports');
INSERT INTO effect_sql_migrations VALUES(8,'2026-11-27 21:07:07','observations');
INSERT INTO effect_sql_migrations VALUES(9,'2026-11-27 21:07:07','budgets');
INSERT INTO effect_sql_migrations VALUES(10,'2026-11-27 21:07:07','scopes');
INSERT INTO effect_sql_migrations VALUES(11,'2026-11-27 21:07:07','audit_log');
INSERT INTO effect_sql_migrations VALUES(12,'2026-11-27 21:07:07','usage');
INSERT INTO effect_sql_migrations VALUES(13,'2026-11-27 21:07:07','purchases');
INSERT INTO effect_sql_migrations VALUES(15,'2026-11-27 21:07:07','vendor_readings');
INSERT INTO effect_sql_migrations VALUES(16,'2026-11-27 21:07:07','claims');
CREATE TABLE migration_lock (
        id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
        owner TEXT NOT NULL,
        expires_at BIGINT NOT NULL
      );
CREATE TABLE accounts (
      id TEXT NOT NULL PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      created_at BIGINT NOT NULL
    , suspended_at BIGINT);
INSERT INTO accounts VALUES('01a21ed5-58ad-70dc-ae2d-52cd658add59','acme',1795813628078,NULL);
INSERT INTO accounts VALUES('01a21ed5-5fd1-7438-80b1-03fa0e74ba2b','globex',1795813629910,NULL);
INSERT INTO accounts VALUES('01a21ed5-65d8-7302-b9ca-b2ddf407e818','initech',1795813631450,NULL);
INSERT INTO accounts VALUES('01a21ed5-6b98-7541-ac88-f61e6b6187ec','hooli',1795813632924,1795813660164);
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
    , budget_id TEXT REFERENCES budgets (id), scopes TEXT NOT NULL DEFAULT 'check,read');
INSERT INTO api_keys VALUES('01a21ed5-70a2-7263-b190-cee6df4bce33','01a21ed5-58ad-70dc-ae2d-52cd658add59','shop','d0eda28a2678a82819bd18376fdfed8166b032cc1eb1074413ef3ec3fd2918df','am_cRY9vQ',1795813634209,NULL,NULL,NULL,1795813654108,NULL,'check,read');
INSERT INTO api_keys VALUES('01a21ed5-776d-770e-837d-d6909842dc2e','01a21ed5-58ad-70dc-ae2d-52cd658add59','búsqueda','20efe4d2bc4f9ab6b235e6044d2d9b3aaacf4db946e5f86617006b47d4f78e8b','am_dKQFYC',1795813635948,2111173635948,315360000000,NULL,1795813654733,NULL,'check,read');
INSERT INTO api_keys VALUES('01a21ed5-7d01-7295-b629-a6a4d37ef38e','01a21ed5-58ad-70dc-ae2d-52cd658add59',NULL,'4318713d65efddedcc10cfdcfdf4bef1ea678aa4dddbf82f0a621d400978da0e','am_kTUcqX',1795813637375,1795813638375,1000,NULL,NULL,NULL,'check,read');
INSERT INTO api_keys VALUES('01a21ed5-81fc-7378-95f7-badbf01df7a2','01a21ed5-58ad-70dc-ae2d-52cd658add59',NULL,'b6dc0147ab8948830d7df0431a1a03a540359c1213c266df94fea53c5fa1fe9d','am_r69I5D',1795813638651,NULL,NULL,1795813659707,NULL,NULL,'check');
INSERT INTO api_keys VALUES('01a21ed5-8528-70b9-a791-e1ba273c6840','01a21ed5-58ad-70dc-ae2d-52cd658add59','interns','fe0979a99b1f8c0babc7676bbbf043d9260ddd49604c3742e5d913734b6baea7','am_v4R8uG',1795813639458,NULL,NULL,NULL,1795813655750,'01a21ed5-8532-7233-a5fa-bed3a853fd80','check,read');
INSERT INTO api_keys VALUES('01a21ed5-8992-77c2-84e7-c97779268aa2','01a21ed5-58ad-70dc-ae2d-52cd658add59',NULL,'c05bb711a6f3255729027cfc2b6752a63a9ed41d9214e65bb1cbe6ec9eb2117c','am_RAJpuT',1795813640593,NULL,NULL,NULL,1795813655125,'01a21ed5-899f-740e-9061-6313ab1eb107','check,read');
INSERT INTO api_keys VALUES('01a21ed5-8e82-7317-a85d-3c961b12d885','01a21ed5-58ad-70dc-ae2d-52cd658add59',NULL,'e4a67fab8c5bb8f0d07e7680328518262dd34c5e916720beadf1109f17acb494','am_A7aZ9h',1795813641857,NULL,NULL,NULL,1795813655773,'01a21ed5-8ea8-7148-ad14-a6572ff68b19','check');
INSERT INTO api_keys VALUES('01a21ed5-9325-760c-ab30-34aed7babc8e','01a21ed5-58ad-70dc-ae2d-52cd658add59','dashboard','97e246c8ba0cbee80bbf413d917a31910a603ff6c87ff651ccdc9a37f0d29c6b','am_bNWnjs',1795813643044,NULL,NULL,NULL,1795813655875,NULL,'read');
INSERT INTO api_keys VALUES('01a21ed5-977c-7338-b3ce-f2ef214e223c','01a21ed5-5fd1-7438-80b1-03fa0e74ba2b','crawler','33a40ffea29655e490924fad2bcd85a225e19849c7b4266843c9c317006b8b0b','am_5CrvJ0',1795813644155,1795813658947,NULL,NULL,1795813655799,'01a21ed5-977f-77b0-a39f-864703e36a58','check,read');
INSERT INTO api_keys VALUES('01a21ed5-9d8e-756a-905b-b96cb2981eeb','01a21ed5-6b98-7541-ac88-f61e6b6187ec',NULL,'52282b93b1daf234cdffe9b1253a9abd6f77f9a35a6f093026f35bb46276703c','am_Lnn0jO',1795813645709,NULL,NULL,NULL,1795813655854,NULL,'check,read');
INSERT INTO api_keys VALUES('01a21ed5-d145-7664-85f8-95ae6c899621','01a21ed5-5fd1-7438-80b1-03fa0e74ba2b','crawler','2f4bb874a8fc2bb8b0177856ba659ff1204aed3ded6090abb024208bcfbc7989','am_xQbmvZ',1795813658947,NULL,NULL,NULL,NULL,'01a21ed5-977f-77b0-a39f-864703e36a58','check,read');
CREATE TABLE balances (
      account_id TEXT NOT NULL PRIMARY KEY REFERENCES accounts (id),
      granted BIGINT NOT NULL,
      charged BIGINT NOT NULL,
      held BIGINT NOT NULL,
      entries BIGINT NOT NULL,
      head TEXT NOT NULL, budgets BIGINT NOT NULL DEFAULT 0,
      CHECK (charged >= 0 AND held >= 0 AND charged + held <= granted)
    ) WITHOUT ROWID;
INSERT INTO balances VALUES('01a21ed5-58ad-70dc-ae2d-52cd658add59',1460,19,2,13,'e2fa63a3f5fa098902df5c3c2552349f1089d2d29e0a26b85d1a4ac949b67ac5',3);
INSERT INTO balances VALUES('01a21ed5-5fd1-7438-80b1-03fa0e74ba2b',35,2,1,3,'f3a5e5783ca876bd1b65a1e4eb5045fc9d05da2cd394377620cdc952da4039e0',1);
INSERT INTO balances VALUES('01a21ed5-65d8-7302-b9ca-b2ddf407e818',0,0,0,0,'',0);
INSERT INTO balances VALUES('01a21ed5-6b98-7541-ac88-f61e6b6187ec',35,1,0,3,'9a69b48f59beed5c062365f7e6748cdacbe175a0de6a66662b639552f1ab963e',0);
CREATE TABLE holds (
      request_id TEXT NOT NULL PRIMARY KEY,
      account_id TEXT NOT NULL REFERENCES accounts (id),
      amount BIGINT NOT NULL CHECK (amount > 0),
      expires_at BIGINT NOT NULL
    , owner TEXT, api_key_id TEXT, held_at BIGINT) WITHOUT ROWID;
INSERT INTO holds VALUES('01a21ed5-da8e-76a4-a240-14994a25f74e','01a21ed5-58ad-70dc-ae2d-52cd658add59',2,1795813721330,'01a21ed5-d8e8-7009-b062-05c5e8442781','01a21ed5-8528-70b9-a791-e1ba273c6840',1795813661330);
INSERT INTO holds VALUES('01a21ed5-da9b-767a-a5c7-f12628f96d57','01a21ed5-5fd1-7438-80b1-03fa0e74ba2b',1,1795813721339,'01a21ed5-d8e8-7009-b062-05c5e8442781','01a21ed5-d145-7664-85f8-95ae6c899621',1795813661339);
CREATE TABLE receipts (
      account_id TEXT NOT NULL REFERENCES accounts (id),
      key TEXT NOT NULL,
      fingerprint TEXT NOT NULL,
      request_id TEXT NOT NULL,
      body TEXT,
      expires_at BIGINT NOT NULL,
      PRIMARY KEY (account_id, key)
    );
INSERT INTO receipts VALUES('01a21ed5-58ad-70dc-ae2d-52cd658add59','invoice-1','c3c82cd0cb9eeacec41e548d9a81c6f972b3468ec1db6be0740ab8444549608d','01a21ed5-bfff-7381-b38c-0c37bb860cd4','{"creditsUsed":1,"outcomes":[[54,94,35]]}',1795900054529);
INSERT INTO receipts VALUES('01a21ed5-58ad-70dc-ae2d-52cd658add59','invoice-2','f2ec9534cc03b2bc712b6ef8af42b48831d6ee4eae6aca51510cfd5706d859f4','01a21ed5-c031-73e0-8bae-5cfbf23d5afd','{"creditsUsed":3,"outcomes":[[22,5,82],[65,44,38],[54,94,35]]}',1795900054601);
INSERT INTO receipts VALUES('01a21ed5-58ad-70dc-ae2d-52cd658add59','in quotes, with "more" and \','9c36e627ba1537b2c1c4d291fd6f12627e845e37336dfe89d01bfc6f6463817a','01a21ed5-c0a3-7612-bdf2-051694ff1ae4','{"creditsUsed":2,"outcomes":[[54,94,35],[54,94,35]]}',1795900054697);
INSERT INTO receipts VALUES('01a21ed5-58ad-70dc-ae2d-52cd658add59','a-failure','0dde26927037a19cb0011bf70f9272e511635a9cb835385bcb564cbc9073fc9e','01a21ed5-c0cb-7360-b550-267ad9af51ea','{"creditsUsed":2,"outcomes":["INVALID_URL",[30,7,33],"PROVIDER_ERROR",[100,39,50]]}',1795900054782);
INSERT INTO receipts VALUES('01a21ed5-58ad-70dc-ae2d-52cd658add59','only-failures','6f896b95af954c3a4c4d1d37215a14b6941f1f4895d9652da4e907e994a838de','01a21ed5-c133-76cc-bc9d-5d63f769d116','{"creditsUsed":0,"outcomes":["PROVIDER_ERROR","PROVIDER_ERROR"]}',1795900054884);
INSERT INTO receipts VALUES('01a21ed5-58ad-70dc-ae2d-52cd658add59','non-ascii','9e8a272d7552ba0c37458108eed16fbf25bf822a950997305522bd1dced9b58f','01a21ed5-c195-77b5-88ae-2a87bff627bb','{"creditsUsed":3,"outcomes":[[67,14,13],[73,94,40],[67,14,13]]}',1795900055012);
INSERT INTO receipts VALUES('01a21ed5-58ad-70dc-ae2d-52cd658add59','with-provenance','4dec946230f630b79b0f26857ff6e3140976933c8b0ca9b953a9d249245c6fa9','01a21ed5-c254-7688-9f15-5b52968381c1','{"creditsUsed":2,"outcomes":[[54,94,35],"PROVIDER_ERROR",[54,56,48]],"sources":[{"provider":"moz","source":"known","fetchedAt":"2026-11-27T21:07:34.447Z","ageSeconds":0,"index":null},{"cause":"unknown","detail":"Moz does not know the page (error -32655)."},{"provider":"moz","source":"bought","fetchedAt":"2026-11-27T21:07:35.352Z","ageSeconds":0,"index":null}]}',1795900055395);
INSERT INTO receipts VALUES('01a21ed5-58ad-70dc-ae2d-52cd658add59','of-a-budget','efbdcee633d0c1fd6ebee931c3fbcc6938d52764d6e19a1c9d17ba44d7d7d685','01a21ed5-c4c4-701c-8b64-a13726cb45b8','{"creditsUsed":2,"outcomes":[[65,11,32],[26,9,56]]}',1795900055762);
INSERT INTO receipts VALUES('01a21ed5-58ad-70dc-ae2d-52cd658add59','0c5e7d0f-3f0c-4b43-9a55-0a4f0e0c7d52','009500429c1efe0018a99d529c5afb129ef9aaf37e5debaf675fa7dbf8fe7161','01a21ed5-c4dc-776f-8957-c5c4187d4897','{"creditsUsed":1,"outcomes":[[54,19,5]]}',1795900055787);
INSERT INTO receipts VALUES('01a21ed5-5fd1-7438-80b1-03fa0e74ba2b','invoice-1','5554c236e5e11f6b2fe7613024bc689683300ddd3fcf1f3c5aeef99a7c6b29c7','01a21ed5-c4f6-700e-9248-60af44d90785','{"creditsUsed":2,"outcomes":[[1,12,3],[88,76,77]]}',1795900055837);
INSERT INTO receipts VALUES('01a21ed5-58ad-70dc-ae2d-52cd658add59','left-open','08c885e0d2be5cbe3004742c6f0ebf36f318552c14a39d0cd73d6d1a4ccb7604','01a21ed5-da8e-76a4-a240-14994a25f74e',NULL,1795813721330);
CREATE TABLE figures (
      provider TEXT NOT NULL,
      page TEXT NOT NULL,
      domain_authority DOUBLE PRECISION NOT NULL,
      page_authority DOUBLE PRECISION NOT NULL,
      spam_score DOUBLE PRECISION,
      fetched_at BIGINT NOT NULL, vendor_index TEXT, of_domain TEXT, since BIGINT,
      PRIMARY KEY (provider, page)
    );
INSERT INTO figures VALUES('moz','example.com/',54.0,77.0,35.0,1795813657121,NULL,NULL,NULL);
INSERT INTO figures VALUES('moz','example.com/a?b=c&d',65.0,44.0,38.0,1795813654600,NULL,NULL,NULL);
INSERT INTO figures VALUES('moz','example.net/',27.0,72.0,22.0,1795813654447,NULL,NULL,NULL);
INSERT INTO figures VALUES('moz','www.wikipedia.org/wiki/Domain',22.0,5.0,82.0,1795813654600,NULL,NULL,NULL);
INSERT INTO figures VALUES('moz','example.org/',30.0,7.0,33.0,1795813654774,NULL,NULL,NULL);
INSERT INTO figures VALUES('moz','example.org/b',100.0,39.0,50.0,1795813654774,NULL,NULL,NULL);
INSERT INTO figures VALUES('moz','xn--bcher-kva.de/',67.0,14.0,13.0,1795813654998,NULL,NULL,NULL);
INSERT INTO figures VALUES('moz','xn--r8jz45g.jp/%E3%83%91%E3%82%B9?q=%C3%A9',73.0,94.0,40.0,1795813654998,NULL,NULL,NULL);
INSERT INTO figures VALUES('moz','www.iana.org/',54.0,56.0,48.0,1795813655352,NULL,NULL,NULL);
INSERT INTO figures VALUES('moz','example.com/c',88.0,76.0,77.0,1795813655835,NULL,NULL,NULL);
INSERT INTO figures VALUES('moz','www.ietf.org/',65.0,11.0,32.0,1795813655761,NULL,NULL,NULL);
INSERT INTO figures VALUES('moz','www.iso.org/',1.0,12.0,3.0,1795813655835,NULL,NULL,NULL);
INSERT INTO figures VALUES('moz','www.rfc-editor.org/',26.0,9.0,56.0,1795813655761,NULL,NULL,NULL);
INSERT INTO figures VALUES('moz','www.w3.org/',54.0,19.0,5.0,1795813655786,NULL,NULL,NULL);
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
    , name TEXT, imported_at BIGINT);
CREATE TABLE processes (
      id TEXT NOT NULL PRIMARY KEY,
      beats BIGINT NOT NULL
    );
INSERT INTO processes VALUES('01a21ed5-d8e8-7009-b062-05c5e8442781',2);
CREATE TABLE observations (
      page TEXT NOT NULL,
      provider TEXT NOT NULL,
      fetched_at BIGINT NOT NULL,
      last_fetched_at BIGINT NOT NULL,
      vendor_index TEXT,
      domain_authority DOUBLE PRECISION NOT NULL,
      page_authority DOUBLE PRECISION NOT NULL,
      spam_score DOUBLE PRECISION,
      of_vendor BIGINT NOT NULL,
      stored_at BIGINT NOT NULL,
      PRIMARY KEY (page, provider, fetched_at)
    ) WITHOUT ROWID;
INSERT INTO observations VALUES('example.com/','moz',1795813654447,1795813654447,NULL,54.0,94.0,35.0,0,1795813654447);
CREATE TABLE budgets (
      id TEXT NOT NULL PRIMARY KEY,
      account_id TEXT NOT NULL REFERENCES accounts (id),
      credits BIGINT NOT NULL CHECK (credits > 0),
      period TEXT NOT NULL CHECK (period IN ('day', 'month', 'total')),
      since BIGINT NOT NULL
    );
INSERT INTO budgets VALUES('01a21ed5-8532-7233-a5fa-bed3a853fd80','01a21ed5-58ad-70dc-ae2d-52cd658add59',20,'total',0);
INSERT INTO budgets VALUES('01a21ed5-899f-740e-9061-6313ab1eb107','01a21ed5-58ad-70dc-ae2d-52cd658add59',500,'day',1795737600000);
INSERT INTO budgets VALUES('01a21ed5-8ea8-7148-ad14-a6572ff68b19','01a21ed5-58ad-70dc-ae2d-52cd658add59',2000,'month',1793491200000);
INSERT INTO budgets VALUES('01a21ed5-977f-77b0-a39f-864703e36a58','01a21ed5-5fd1-7438-80b1-03fa0e74ba2b',10,'total',0);
CREATE TABLE budget_uses (
      budget_id TEXT NOT NULL REFERENCES budgets (id),
      start BIGINT NOT NULL,
      charged BIGINT NOT NULL CHECK (charged >= 0),
      held BIGINT NOT NULL CHECK (held >= 0),
      holds BIGINT NOT NULL CHECK (holds >= 0),
      PRIMARY KEY (budget_id, start)
    );
INSERT INTO budget_uses VALUES('01a21ed5-899f-740e-9061-6313ab1eb107',1795737600000,2,0,0);
INSERT INTO budget_uses VALUES('01a21ed5-8532-7233-a5fa-bed3a853fd80',0,2,2,1);
INSERT INTO budget_uses VALUES('01a21ed5-8ea8-7148-ad14-a6572ff68b19',1793491200000,1,0,0);
INSERT INTO budget_uses VALUES('01a21ed5-977f-77b0-a39f-864703e36a58',0,2,1,1);
CREATE TABLE IF NOT EXISTS "entries" (
        account_id TEXT NOT NULL REFERENCES accounts (id),
        sequence BIGINT NOT NULL,
        kind TEXT NOT NULL CHECK (kind IN ('grant', 'charge', 'correction')),
        amount BIGINT NOT NULL CHECK (amount > 0),
        balance_after BIGINT NOT NULL CHECK (balance_after >= 0),
        request_id TEXT,
        urls BIGINT,
        note TEXT,
        at BIGINT NOT NULL,
        hash TEXT NOT NULL,
        api_key_id TEXT,
        held_at BIGINT,
        PRIMARY KEY (account_id, sequence)
      ) WITHOUT ROWID;
INSERT INTO entries VALUES('01a21ed5-58ad-70dc-ae2d-52cd658add59',1,'grant',1000,1000,NULL,NULL,'opening grant',1795813628121,'5b68c2360096db75351319e93034edf436683aeb4f3a65cb89d88da63b626be9',NULL,NULL);
INSERT INTO entries VALUES('01a21ed5-58ad-70dc-ae2d-52cd658add59',2,'grant',500,1500,NULL,NULL,'invoice 2, März “gross”',1795813649361,'d59fbb7dac893ae631c87aab39c17955cddb4509ae2bebfcb200b39adde95d2e',NULL,NULL);
INSERT INTO entries VALUES('01a21ed5-58ad-70dc-ae2d-52cd658add59',3,'correction',40,1460,NULL,NULL,'granted twice',1795813650334,'b7fcdc1ece3c98aaddf087783592d15b956f0f57b51fc6846269a758e11d81c3',NULL,NULL);
INSERT INTO entries VALUES('01a21ed5-58ad-70dc-ae2d-52cd658add59',4,'charge',2,1458,'01a21ed5-be59-740f-b833-de7bdebc84bd',2,NULL,1795813654449,'416e07d066222f54fa47e26f1c9394304a6b6334e1469a51741888ff25289682','01a21ed5-70a2-7263-b190-cee6df4bce33',1795813654110);
INSERT INTO entries VALUES('01a21ed5-58ad-70dc-ae2d-52cd658add59',5,'charge',1,1457,'01a21ed5-bfff-7381-b38c-0c37bb860cd4',1,NULL,1795813654529,'616bfb5e78d62ca4eec8d71d31a72a22a1db4834028d9de6abfac40df6e9d6c0','01a21ed5-70a2-7263-b190-cee6df4bce33',NULL);
INSERT INTO entries VALUES('01a21ed5-58ad-70dc-ae2d-52cd658add59',6,'charge',3,1454,'01a21ed5-c031-73e0-8bae-5cfbf23d5afd',3,NULL,1795813654601,'c323cdee9d3ed26b9cedb191bfe18db1a3e382b82ce72e8f06483a72cd79e03c','01a21ed5-70a2-7263-b190-cee6df4bce33',1795813654578);
INSERT INTO entries VALUES('01a21ed5-58ad-70dc-ae2d-52cd658add59',7,'charge',2,1452,'01a21ed5-c0a3-7612-bdf2-051694ff1ae4',2,NULL,1795813654697,'999716d4c534ce4cc4531de11b427922060657680d12ad48b6ec4cc22d6a3e3a','01a21ed5-70a2-7263-b190-cee6df4bce33',NULL);
INSERT INTO entries VALUES('01a21ed5-58ad-70dc-ae2d-52cd658add59',8,'charge',2,1450,'01a21ed5-c0cb-7360-b550-267ad9af51ea',2,NULL,1795813654782,'5b8be982a9008d9b7a623a50fdc2d6962e587070485153184acc5c3cb128dd3e','01a21ed5-776d-770e-837d-d6909842dc2e',1795813654734);
INSERT INTO entries VALUES('01a21ed5-58ad-70dc-ae2d-52cd658add59',9,'charge',3,1447,'01a21ed5-c195-77b5-88ae-2a87bff627bb',3,NULL,1795813655012,'e40a746d259caf18f5569eb37e756c2b814a183fead98e0010ba1d256e554002','01a21ed5-776d-770e-837d-d6909842dc2e',1795813654944);
INSERT INTO entries VALUES('01a21ed5-58ad-70dc-ae2d-52cd658add59',10,'charge',2,1445,'01a21ed5-c254-7688-9f15-5b52968381c1',2,NULL,1795813655395,'20f00c389a6b85a839764b2c221e65b55270cbaa002253786c62a5b0e743e9b6','01a21ed5-8992-77c2-84e7-c97779268aa2',1795813655183);
INSERT INTO entries VALUES('01a21ed5-58ad-70dc-ae2d-52cd658add59',11,'charge',2,1443,'01a21ed5-c4c4-701c-8b64-a13726cb45b8',2,NULL,1795813655762,'3b5bc3edec652c96c70fe0f579c9f22b4b74064836f2ba0d2a69b8f91ed0f455','01a21ed5-8528-70b9-a791-e1ba273c6840',1795813655751);
INSERT INTO entries VALUES('01a21ed5-58ad-70dc-ae2d-52cd658add59',12,'charge',1,1442,'01a21ed5-c4dc-776f-8957-c5c4187d4897',1,NULL,1795813655787,'87d886d00a56eed0354cf0c3a84576c5f2f1393cb84d100d20211654f8cf1513','01a21ed5-8e82-7317-a85d-3c961b12d885',1795813655775);
INSERT INTO entries VALUES('01a21ed5-58ad-70dc-ae2d-52cd658add59',13,'charge',1,1441,'01a21ed5-c9f9-7672-8c82-58376ac04184',1,NULL,1795813657121,'e2fa63a3f5fa098902df5c3c2552349f1089d2d29e0a26b85d1a4ac949b67ac5','01a21ed5-70a2-7263-b190-cee6df4bce33',1795813657083);
INSERT INTO entries VALUES('01a21ed5-5fd1-7438-80b1-03fa0e74ba2b',1,'grant',25,25,NULL,NULL,'opening grant',1795813629977,'a97078a3b0515b6e25bea58c8e16d7973eb7c8028e1c717a1b73b05f217333b7',NULL,NULL);
INSERT INTO entries VALUES('01a21ed5-5fd1-7438-80b1-03fa0e74ba2b',2,'grant',10,35,NULL,NULL,'a gift',1795813653911,'35b8ad54dea9e9d2740abad1554aa7351fcffdab139d0d523ed6ca588235bf07',NULL,NULL);
INSERT INTO entries VALUES('01a21ed5-5fd1-7438-80b1-03fa0e74ba2b',3,'charge',2,33,'01a21ed5-c4f6-700e-9248-60af44d90785',2,NULL,1795813655837,'f3a5e5783ca876bd1b65a1e4eb5045fc9d05da2cd394377620cdc952da4039e0','01a21ed5-977c-7338-b3ce-f2ef214e223c',1795813655799);
INSERT INTO entries VALUES('01a21ed5-6b98-7541-ac88-f61e6b6187ec',1,'grant',40,40,NULL,NULL,'opening grant',1795813632992,'1255315bafe470f6c1471dccccc6fbf61fa4af5d21a89b85a71a715c02007c66',NULL,NULL);
INSERT INTO entries VALUES('01a21ed5-6b98-7541-ac88-f61e6b6187ec',2,'correction',5,35,NULL,NULL,'a mistake',1795813654048,'29f88afa164cdd472ff560223232ec4e65396b49cb92d2ff7d28defc0da0002b',NULL,NULL);
INSERT INTO entries VALUES('01a21ed5-6b98-7541-ac88-f61e6b6187ec',3,'charge',1,34,'01a21ed5-c52d-704e-bcff-cd46a7af7ff2',1,NULL,1795813655856,'9a69b48f59beed5c062365f7e6748cdacbe175a0de6a66662b639552f1ab963e','01a21ed5-9d8e-756a-905b-b96cb2981eeb',NULL);
CREATE TABLE audit_log (
      sequence BIGINT NOT NULL PRIMARY KEY,
      at BIGINT NOT NULL,
      actor TEXT NOT NULL,
      action TEXT NOT NULL,
      subject TEXT NOT NULL,
      detail TEXT NOT NULL,
      row_table TEXT,
      row_id TEXT,
      state TEXT,
      granted BIGINT,
      hash TEXT NOT NULL
    );
INSERT INTO audit_log VALUES(1,1795813627825,'cli:root','log.begin','the audit log','{"accounts":0,"keys":0,"granted":"0"}',NULL,NULL,NULL,NULL,'a3e0bb0b40e5aea218d8f2c6061244370c4894c93427977e08e188603bf6341b');
INSERT INTO audit_log VALUES(2,1795813628092,'cli:root','account.create','acme','{}','accounts','01a21ed5-58ad-70dc-ae2d-52cd658add59','{"changed":null,"row":{"id":"01a21ed5-58ad-70dc-ae2d-52cd658add59","name":"acme","createdAt":"1795813628078"}}',NULL,'e6ec2c74aa5187739828af8ae0097199596d2902b7a92d09ec7bbfc980bc0715');
INSERT INTO audit_log VALUES(3,1795813628121,'cli:root','credits.grant','acme','{"amount":1000,"note":"opening grant","entry":1}','accounts','01a21ed5-58ad-70dc-ae2d-52cd658add59',NULL,1000,'5aee4e15d9c55791ba803e9746ee18126f708f92c5d9266cb8b4089344ccd1be');
INSERT INTO audit_log VALUES(4,1795813629929,'cli:root','account.create','globex','{}','accounts','01a21ed5-5fd1-7438-80b1-03fa0e74ba2b','{"changed":null,"row":{"id":"01a21ed5-5fd1-7438-80b1-03fa0e74ba2b","name":"globex","createdAt":"1795813629910"}}',NULL,'6eff05a44833ff1f452f0a545925b776503cd6e3aad21fa02b9b1225ffb6a9d1');
INSERT INTO audit_log VALUES(5,1795813629977,'cli:root','credits.grant','globex','{"amount":25,"note":"opening grant","entry":1}','accounts','01a21ed5-5fd1-7438-80b1-03fa0e74ba2b',NULL,25,'e44071b920bec95fb2b51acd6aa93928530a1d31d988fb19f304d75e785b0acf');
INSERT INTO audit_log VALUES(6,1795813631466,'cli:root','account.create','initech','{}','accounts','01a21ed5-65d8-7302-b9ca-b2ddf407e818','{"changed":null,"row":{"id":"01a21ed5-65d8-7302-b9ca-b2ddf407e818","name":"initech","createdAt":"1795813631450"}}',NULL,'3573cf1a8698400ef594308ecf978c8f8a7c2664cd470ce87cc4ccf7e0b05253');
INSERT INTO audit_log VALUES(7,1795813632945,'cli:root','account.create','hooli','{}','accounts','01a21ed5-6b98-7541-ac88-f61e6b6187ec','{"changed":null,"row":{"id":"01a21ed5-6b98-7541-ac88-f61e6b6187ec","name":"hooli","createdAt":"1795813632924"}}',NULL,'f24c08f84d9ac12e213f938a42d618ea2a41df32bbc7acb865a8a3356d8d0acc');
INSERT INTO audit_log VALUES(8,1795813632992,'cli:root','credits.grant','hooli','{"amount":40,"note":"opening grant","entry":1}','accounts','01a21ed5-6b98-7541-ac88-f61e6b6187ec',NULL,40,'fbf139fce09ddd458539d0470c3a6c89f2267512d32bc436b6c0f57bfc46d7e8');
INSERT INTO audit_log VALUES(9,1795813634306,'cli:root','key.create','01a21ed5-70a2-7263-b190-cee6df4bce33','{"account":"acme","label":"shop","start":"am_cRY9vQ","expiresAt":null,"scopes":"check,read"}','api_keys','01a21ed5-70a2-7263-b190-cee6df4bce33','{"changed":null,"row":{"id":"01a21ed5-70a2-7263-b190-cee6df4bce33","accountId":"01a21ed5-58ad-70dc-ae2d-52cd658add59","label":"shop","hash":"d0eda28a2678a82819bd18376fdfed8166b032cc1eb1074413ef3ec3fd2918df","start":"am_cRY9vQ","createdAt":"1795813634209","scopes":"check,read"}}',NULL,'7da02c182ecc6a1ed413e56cb9f71c9fe77e19c82f594dc343ff2708dc1cfcef');
INSERT INTO audit_log VALUES(10,1795813635971,'cli:root','key.create','01a21ed5-776d-770e-837d-d6909842dc2e','{"account":"acme","label":"búsqueda","start":"am_dKQFYC","expiresAt":"2036-11-24T21:07:15.948Z","scopes":"check,read"}','api_keys','01a21ed5-776d-770e-837d-d6909842dc2e','{"changed":null,"row":{"id":"01a21ed5-776d-770e-837d-d6909842dc2e","accountId":"01a21ed5-58ad-70dc-ae2d-52cd658add59","label":"búsqueda","hash":"20efe4d2bc4f9ab6b235e6044d2d9b3aaacf4db946e5f86617006b47d4f78e8b","start":"am_dKQFYC","createdAt":"1795813635948","expiresAt":"2111173635948","lifetimeMs":"315360000000","scopes":"check,read"}}',NULL,'b79afb452e8d4c483a385ef24ac9554c1206f3f5a70e1002db253e196fc49d4d');
INSERT INTO audit_log VALUES(11,1795813637411,'cli:root','key.create','01a21ed5-7d01-7295-b629-a6a4d37ef38e','{"account":"acme","label":null,"start":"am_kTUcqX","expiresAt":"2026-11-27T21:07:18.375Z","scopes":"check,read"}','api_keys','01a21ed5-7d01-7295-b629-a6a4d37ef38e','{"changed":null,"row":{"id":"01a21ed5-7d01-7295-b629-a6a4d37ef38e","accountId":"01a21ed5-58ad-70dc-ae2d-52cd658add59","hash":"4318713d65efddedcc10cfdcfdf4bef1ea678aa4dddbf82f0a621d400978da0e","start":"am_kTUcqX","createdAt":"1795813637375","expiresAt":"1795813638375","lifetimeMs":"1000","scopes":"check,read"}}',NULL,'42f2f6c30fc0ad608fa40608a04ca9224bd2bd268c90e8a81ebfae399451021d');
INSERT INTO audit_log VALUES(12,1795813638680,'cli:root','key.create','01a21ed5-81fc-7378-95f7-badbf01df7a2','{"account":"acme","label":null,"start":"am_r69I5D","expiresAt":null,"scopes":"check"}','api_keys','01a21ed5-81fc-7378-95f7-badbf01df7a2','{"changed":null,"row":{"id":"01a21ed5-81fc-7378-95f7-badbf01df7a2","accountId":"01a21ed5-58ad-70dc-ae2d-52cd658add59","hash":"b6dc0147ab8948830d7df0431a1a03a540359c1213c266df94fea53c5fa1fe9d","start":"am_r69I5D","createdAt":"1795813638651","scopes":"check"}}',NULL,'a842d921c250e0d556f0201e74e8aa57a12a02a0e46fa544b176e4ec5c456d0a');
INSERT INTO audit_log VALUES(13,1795813639505,'cli:root','key.create','01a21ed5-8528-70b9-a791-e1ba273c6840','{"account":"acme","label":"interns","start":"am_v4R8uG","expiresAt":null,"scopes":"check,read","budget":"20/total"}','api_keys','01a21ed5-8528-70b9-a791-e1ba273c6840','{"changed":null,"row":{"id":"01a21ed5-8528-70b9-a791-e1ba273c6840","accountId":"01a21ed5-58ad-70dc-ae2d-52cd658add59","label":"interns","hash":"fe0979a99b1f8c0babc7676bbbf043d9260ddd49604c3742e5d913734b6baea7","start":"am_v4R8uG","createdAt":"1795813639458","budgetId":"01a21ed5-8532-7233-a5fa-bed3a853fd80","scopes":"check,read","budget":"20/total"}}',NULL,'8b74d6ecf1db3559992b1defd0931c35ea860aa7bcc279a923811bdef854c1de');
INSERT INTO audit_log VALUES(14,1795813640627,'cli:root','key.create','01a21ed5-8992-77c2-84e7-c97779268aa2','{"account":"acme","label":null,"start":"am_RAJpuT","expiresAt":null,"scopes":"check,read","budget":"500/day"}','api_keys','01a21ed5-8992-77c2-84e7-c97779268aa2','{"changed":null,"row":{"id":"01a21ed5-8992-77c2-84e7-c97779268aa2","accountId":"01a21ed5-58ad-70dc-ae2d-52cd658add59","hash":"c05bb711a6f3255729027cfc2b6752a63a9ed41d9214e65bb1cbe6ec9eb2117c","start":"am_RAJpuT","createdAt":"1795813640593","budgetId":"01a21ed5-899f-740e-9061-6313ab1eb107","scopes":"check,read","budget":"500/day"}}',NULL,'1f8bc62f001a49f76083e24ac09b86e79b93a9f7e618a621edfe128f89b3304d');
INSERT INTO audit_log VALUES(15,1795813641968,'cli:root','key.create','01a21ed5-8e82-7317-a85d-3c961b12d885','{"account":"acme","label":null,"start":"am_A7aZ9h","expiresAt":null,"scopes":"check","budget":"2000/month"}','api_keys','01a21ed5-8e82-7317-a85d-3c961b12d885','{"changed":null,"row":{"id":"01a21ed5-8e82-7317-a85d-3c961b12d885","accountId":"01a21ed5-58ad-70dc-ae2d-52cd658add59","hash":"e4a67fab8c5bb8f0d07e7680328518262dd34c5e916720beadf1109f17acb494","start":"am_A7aZ9h","createdAt":"1795813641857","budgetId":"01a21ed5-8ea8-7148-ad14-a6572ff68b19","scopes":"check","budget":"2000/month"}}',NULL,'dd49716753b7c192a0b74d1bb4793c0fea8b4067fd262a8aec9be98d59cc8703');
INSERT INTO audit_log VALUES(16,1795813643053,'cli:root','key.create','01a21ed5-9325-760c-ab30-34aed7babc8e','{"account":"acme","label":null,"start":"am_bNWnjs","expiresAt":null,"scopes":"read"}','api_keys','01a21ed5-9325-760c-ab30-34aed7babc8e','{"changed":null,"row":{"id":"01a21ed5-9325-760c-ab30-34aed7babc8e","accountId":"01a21ed5-58ad-70dc-ae2d-52cd658add59","hash":"97e246c8ba0cbee80bbf413d917a31910a603ff6c87ff651ccdc9a37f0d29c6b","start":"am_bNWnjs","createdAt":"1795813643044","scopes":"read"}}',NULL,'8d30068a4cd030b06b1e1249df9e093693f30d347b0bed6591e56dcc7c8d61be');
INSERT INTO audit_log VALUES(17,1795813644220,'cli:root','key.create','01a21ed5-977c-7338-b3ce-f2ef214e223c','{"account":"globex","label":"crawler","start":"am_5CrvJ0","expiresAt":null,"scopes":"check,read","budget":"10/total"}','api_keys','01a21ed5-977c-7338-b3ce-f2ef214e223c','{"changed":null,"row":{"id":"01a21ed5-977c-7338-b3ce-f2ef214e223c","accountId":"01a21ed5-5fd1-7438-80b1-03fa0e74ba2b","label":"crawler","hash":"33a40ffea29655e490924fad2bcd85a225e19849c7b4266843c9c317006b8b0b","start":"am_5CrvJ0","createdAt":"1795813644155","budgetId":"01a21ed5-977f-77b0-a39f-864703e36a58","scopes":"check,read","budget":"10/total"}}',NULL,'f59145c7ace9bc6aecf77d84824fa681f685f81132c271d6661f1058be0ca46c');
INSERT INTO audit_log VALUES(18,1795813645716,'cli:root','key.create','01a21ed5-9d8e-756a-905b-b96cb2981eeb','{"account":"hooli","label":null,"start":"am_Lnn0jO","expiresAt":null,"scopes":"check,read"}','api_keys','01a21ed5-9d8e-756a-905b-b96cb2981eeb','{"changed":null,"row":{"id":"01a21ed5-9d8e-756a-905b-b96cb2981eeb","accountId":"01a21ed5-6b98-7541-ac88-f61e6b6187ec","hash":"52282b93b1daf234cdffe9b1253a9abd6f77f9a35a6f093026f35bb46276703c","start":"am_Lnn0jO","createdAt":"1795813645709","scopes":"check,read"}}',NULL,'e9f8b142b9576b2800677c90d79a360d0ba969b6f4250a6638421ac026fd86bd');
INSERT INTO audit_log VALUES(19,1795813647685,'cli:root','key.update','01a21ed5-9325-760c-ab30-34aed7babc8e','{"account":"acme","label":"dashboard"}','api_keys','01a21ed5-9325-760c-ab30-34aed7babc8e','{"changed":["label"],"row":{"id":"01a21ed5-9325-760c-ab30-34aed7babc8e","accountId":"01a21ed5-58ad-70dc-ae2d-52cd658add59","label":"dashboard","hash":"97e246c8ba0cbee80bbf413d917a31910a603ff6c87ff651ccdc9a37f0d29c6b","start":"am_bNWnjs","createdAt":"1795813643044","scopes":"read"}}',NULL,'f523e0d807c65c82cfcf09256e31f7b84e978cb1a8a98b9f266f708c866b3505');
INSERT INTO audit_log VALUES(20,1795813649361,'cli:root','credits.grant','acme','{"amount":500,"note":"invoice 2, März “gross”","entry":2}','accounts','01a21ed5-58ad-70dc-ae2d-52cd658add59',NULL,500,'9a5ba9eb21fbdf51c25daa66a8b35a3de19f68bc88ef1aa379e7a9908939c2a8');
INSERT INTO audit_log VALUES(21,1795813650334,'cli:root','credits.correct','acme','{"amount":40,"note":"granted twice","entry":3}','accounts','01a21ed5-58ad-70dc-ae2d-52cd658add59',NULL,-40,'86151ca011c295b6de825551c8dcf7a9dedfc8ff5b7bd4197e4e683c816b1094');
INSERT INTO audit_log VALUES(22,1795813651313,'cli:root','credits.correct','globex','{"refused":"only 25 credits can be taken away, because what is charged or held stays; correct at most that, or suspend the account"}',NULL,NULL,NULL,NULL,'1598685172111b5d95c2fd97d9e575e32f0d25f06e3ee4b8e608509fd11259a6');
INSERT INTO audit_log VALUES(23,1795813653911,'admin@127.0.0.1','credits.grant','globex','{"amount":10,"note":"a gift","entry":2}','accounts','01a21ed5-5fd1-7438-80b1-03fa0e74ba2b',NULL,10,'d7df2c872477e45bbc1a160cf43613cd545cbe21a926b9a787388781515e46c3');
INSERT INTO audit_log VALUES(24,1795813654048,'admin@127.0.0.1','credits.correct','hooli','{"amount":5,"note":"a mistake","entry":2}','accounts','01a21ed5-6b98-7541-ac88-f61e6b6187ec',NULL,-5,'5edb90a4a085764ddd45c9af9de1cb76e12733597c72983ac0ebad18b918eb38');
INSERT INTO audit_log VALUES(25,1795813654100,'admin@127.0.0.1','credits.grant','nobody','{"refused":"no account has the name or id \"nobody\"; see ''authority account list''"}',NULL,NULL,NULL,NULL,'99426a3174d22f6283ad7cd1c264f3b8f64d25824e64ca9e3c820a4377bdfc44');
INSERT INTO audit_log VALUES(26,1795813658958,'cli:root','key.rotate','01a21ed5-977c-7338-b3ce-f2ef214e223c','{"account":"globex","successor":"01a21ed5-d145-7664-85f8-95ae6c899621","expiresAt":"2026-11-27T21:07:38.947Z"}','api_keys','01a21ed5-977c-7338-b3ce-f2ef214e223c','{"changed":["expiresAt"],"row":{"id":"01a21ed5-977c-7338-b3ce-f2ef214e223c","accountId":"01a21ed5-5fd1-7438-80b1-03fa0e74ba2b","label":"crawler","hash":"33a40ffea29655e490924fad2bcd85a225e19849c7b4266843c9c317006b8b0b","start":"am_5CrvJ0","createdAt":"1795813644155","expiresAt":"1795813658947","budgetId":"01a21ed5-977f-77b0-a39f-864703e36a58","scopes":"check,read","budget":"10/total"}}',NULL,'9fe0da2f2bac3e1077716f9a861a43a6b393b2f750b21f7ad3f5d76b0fb89280');
INSERT INTO audit_log VALUES(27,1795813658963,'cli:root','key.create','01a21ed5-d145-7664-85f8-95ae6c899621','{"account":"globex","label":"crawler","start":"am_xQbmvZ","expiresAt":null,"scopes":"check,read","budget":"10/total","replaces":"01a21ed5-977c-7338-b3ce-f2ef214e223c"}','api_keys','01a21ed5-d145-7664-85f8-95ae6c899621','{"changed":null,"row":{"id":"01a21ed5-d145-7664-85f8-95ae6c899621","accountId":"01a21ed5-5fd1-7438-80b1-03fa0e74ba2b","label":"crawler","hash":"2f4bb874a8fc2bb8b0177856ba659ff1204aed3ded6090abb024208bcfbc7989","start":"am_xQbmvZ","createdAt":"1795813658947","budgetId":"01a21ed5-977f-77b0-a39f-864703e36a58","scopes":"check,read","budget":"10/total"}}',NULL,'dbd5e49ab906737cde4a733b38ef7779eed02e1088f4678d01fae68183879753');
INSERT INTO audit_log VALUES(28,1795813659710,'cli:root','key.revoke','01a21ed5-81fc-7378-95f7-badbf01df7a2','{"account":"acme","revokedAt":"2026-11-27T21:07:39.707Z"}','api_keys','01a21ed5-81fc-7378-95f7-badbf01df7a2','{"changed":["revokedAt"],"row":{"id":"01a21ed5-81fc-7378-95f7-badbf01df7a2","accountId":"01a21ed5-58ad-70dc-ae2d-52cd658add59","hash":"b6dc0147ab8948830d7df0431a1a03a540359c1213c266df94fea53c5fa1fe9d","start":"am_r69I5D","createdAt":"1795813638651","revokedAt":"1795813659707","scopes":"check"}}',NULL,'75ba410519d8a6c4f6a1517894035cd2af0eec6cea0288d7db17be6164ccc2a1');
INSERT INTO audit_log VALUES(29,1795813660167,'cli:root','account.suspend','hooli','{}','accounts','01a21ed5-6b98-7541-ac88-f61e6b6187ec','{"changed":["suspendedAt"],"row":{"id":"01a21ed5-6b98-7541-ac88-f61e6b6187ec","name":"hooli","createdAt":"1795813632924","suspendedAt":"1795813660164"}}',NULL,'f0b5670c65e9e82bbff4820a1fae3dbb1fc1e26c7f20204b73d92c13e5bc6fec');
CREATE TABLE audit_head (
      id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
      entries BIGINT NOT NULL,
      head TEXT NOT NULL
    );
INSERT INTO audit_head VALUES(1,29,'f0b5670c65e9e82bbff4820a1fae3dbb1fc1e26c7f20204b73d92c13e5bc6fec');
CREATE TABLE act_requests (
      request_key TEXT NOT NULL,
      action TEXT NOT NULL,
      fingerprint TEXT NOT NULL,
      row_id TEXT,
      PRIMARY KEY (request_key, action)
    );
INSERT INTO act_requests VALUES('grant-1','credits.grant','1e31be682eda037ce8d181f32efa81fef2829d6282cef8a1a59eab95252f2233','01a21ed5-5fd1-7438-80b1-03fa0e74ba2b');
INSERT INTO act_requests VALUES('grant-2','credits.correct','76e84bd072a9b9eae211dd20ed7e567188d0f9edf25180c23cb277556a5a6d26','01a21ed5-6b98-7541-ac88-f61e6b6187ec');
CREATE TABLE usage (
      account_id TEXT NOT NULL REFERENCES accounts (id),
      day BIGINT NOT NULL,
      api_key_id TEXT NOT NULL,
      checks BIGINT NOT NULL,
      credits BIGINT NOT NULL,
      known BIGINT NOT NULL,
      invalid_url BIGINT NOT NULL,
      provider_error BIGINT NOT NULL,
      server_error BIGINT NOT NULL,
      PRIMARY KEY (account_id, day, api_key_id)
    ) WITHOUT ROWID;
INSERT INTO usage VALUES('01a21ed5-58ad-70dc-ae2d-52cd658add59',20784,'01a21ed5-70a2-7263-b190-cee6df4bce33',9,9,4,0,0,0);
INSERT INTO usage VALUES('01a21ed5-58ad-70dc-ae2d-52cd658add59',20784,'01a21ed5-776d-770e-837d-d6909842dc2e',5,5,0,1,3,0);
INSERT INTO usage VALUES('01a21ed5-58ad-70dc-ae2d-52cd658add59',20784,'01a21ed5-8528-70b9-a791-e1ba273c6840',2,2,0,0,0,0);
INSERT INTO usage VALUES('01a21ed5-58ad-70dc-ae2d-52cd658add59',20784,'01a21ed5-8992-77c2-84e7-c97779268aa2',2,2,1,0,1,0);
INSERT INTO usage VALUES('01a21ed5-58ad-70dc-ae2d-52cd658add59',20784,'01a21ed5-8e82-7317-a85d-3c961b12d885',1,1,0,0,0,0);
INSERT INTO usage VALUES('01a21ed5-5fd1-7438-80b1-03fa0e74ba2b',20784,'01a21ed5-977c-7338-b3ce-f2ef214e223c',2,2,0,0,0,0);
INSERT INTO usage VALUES('01a21ed5-6b98-7541-ac88-f61e6b6187ec',20784,'01a21ed5-9d8e-756a-905b-b96cb2981eeb',1,1,1,1,0,0);
CREATE TABLE purchase_days (
      provider TEXT NOT NULL,
      day BIGINT NOT NULL,
      calls BIGINT NOT NULL,
      targets BIGINT NOT NULL,
      rows_bought BIGINT NOT NULL,
      cost BIGINT,
      unknown_calls BIGINT NOT NULL,
      unknown_targets BIGINT NOT NULL,
      PRIMARY KEY (provider, day)
    ) WITHOUT ROWID;
INSERT INTO purchase_days VALUES('moz',20784,12,22,15,75000,1,3);
CREATE TABLE purchases (
      id TEXT NOT NULL PRIMARY KEY,
      provider TEXT NOT NULL,
      at BIGINT NOT NULL,
      targets BIGINT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('unknown', 'answered', 'failed')),
      rows_bought BIGINT,
      cost BIGINT,
      is_reported BIGINT
    ) WITHOUT ROWID;
INSERT INTO purchases VALUES('01a21ed5-be6f-7087-bd13-ad19ab0b0d1e','moz',1795813654128,2,'failed',0,0,0);
INSERT INTO purchases VALUES('01a21ed5-bf67-7433-8268-5540b71fe21d','moz',1795813654379,2,'answered',2,10000,0);
INSERT INTO purchases VALUES('01a21ed5-c03b-72d2-8b07-81712f0cb345','moz',1795813654587,2,'answered',2,10000,0);
INSERT INTO purchases VALUES('01a21ed5-c0e3-726a-8e5d-4f234774f907','moz',1795813654756,3,'answered',2,10000,0);
INSERT INTO purchases VALUES('01a21ed5-c149-708e-9504-cc3c0ae7619a','moz',1795813654858,1,'answered',0,0,0);
INSERT INTO purchases VALUES('01a21ed5-c1b4-73f6-a3ad-f6a721d3487b','moz',1795813654965,2,'answered',2,10000,0);
INSERT INTO purchases VALUES('01a21ed5-c2ab-7123-8bdd-ca9981bd53a8','moz',1795813655212,1,'answered',1,5000,0);
INSERT INTO purchases VALUES('01a21ed5-c4cd-7565-a5cb-8c24dd6eb7f5','moz',1795813655757,2,'answered',2,10000,0);
INSERT INTO purchases VALUES('01a21ed5-c4e5-7676-818c-f3b0cd86b472','moz',1795813655781,1,'answered',1,5000,0);
INSERT INTO purchases VALUES('01a21ed5-c512-707c-8396-4ba5ff238c0b','moz',1795813655826,2,'answered',2,10000,0);
INSERT INTO purchases VALUES('01a21ed5-ca11-7443-b345-0090b722672f','moz',1795813657106,1,'answered',1,5000,0);
INSERT INTO purchases VALUES('01a21ed5-daaa-7403-b6c3-7442a506d614','moz',1795813661355,3,'unknown',NULL,NULL,NULL);
CREATE TABLE vendors (
      name TEXT NOT NULL PRIMARY KEY,
      paused_until BIGINT NOT NULL
    );
INSERT INTO vendors VALUES('moz',0);
CREATE TABLE vendor_readings (
      provider TEXT NOT NULL,
      at BIGINT NOT NULL,
      day BIGINT,
      unit TEXT NOT NULL,
      used BIGINT NOT NULL,
      resets_at BIGINT,
      calls BIGINT NOT NULL,
      rows_bought BIGINT NOT NULL,
      cost BIGINT NOT NULL,
      unknown_calls BIGINT NOT NULL,
      unknown_targets BIGINT NOT NULL,
      in_flight_calls BIGINT NOT NULL,
      in_flight_targets BIGINT NOT NULL,
      PRIMARY KEY (provider, at)
    ) WITHOUT ROWID;
CREATE TABLE claims (
      provider TEXT NOT NULL,
      page TEXT NOT NULL,
      owner TEXT NOT NULL,
      expires_at BIGINT NOT NULL,
      PRIMARY KEY (provider, page)
    ) WITHOUT ROWID;
CREATE INDEX api_keys_by_account ON api_keys (account_id, created_at);
CREATE INDEX receipts_by_expiry ON receipts (expires_at);
CREATE INDEX holds_by_expiry ON holds (expires_at);
CREATE INDEX figures_by_age ON figures (fetched_at);
CREATE INDEX observations_by_age ON observations (stored_at);
CREATE TRIGGER figures_changed BEFORE UPDATE ON figures
      WHEN NEW.since IS NULL AND OLD.fetched_at < NEW.fetched_at
      BEGIN 
    INSERT INTO observations
    VALUES (
      OLD.page, OLD.provider, COALESCE(OLD.since, OLD.fetched_at), OLD.fetched_at,
      OLD.vendor_index, OLD.domain_authority, OLD.page_authority, OLD.spam_score, 0, OLD.fetched_at
    ) ON CONFLICT DO NOTHING; END;
CREATE INDEX budgets_by_account ON budgets (account_id);
CREATE UNIQUE INDEX entries_by_request ON entries (request_id);
CREATE INDEX audit_log_by_row ON audit_log (row_table, row_id, sequence);
CREATE INDEX usage_by_day ON usage (day);
CREATE INDEX purchases_by_time ON purchases (at);
CREATE UNIQUE INDEX vendor_readings_by_day ON vendor_readings (provider, day);
COMMIT;
