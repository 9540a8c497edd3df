// Written by scripts/schemas.mjs from prisma/<provider>/migrations: do not edit.
import type { ExpectedMigrations } from './compare-migrations.js';

/**
 * The migrations this build was made for, per provider, in the order in which they are applied. The checksum is
 * the one that Prisma stores: SHA-256 of `migration.sql`, in hex.
 */
export const expectedMigrations: ExpectedMigrations = {
  sqlite: [
    {
      name: '20261129100000_tasks',
      checksum: '49c862e98481e340287b2e708299a1d2faed81ace109900906385d268e78d144',
    },
    {
      name: '20261129100100_task_snapshots',
      checksum: '2e27a547c05e9c516a58dd6ab113c211c4af7a5237ec9c75d6a440e5154755c3',
    },
    {
      name: '20261129100200_task_events',
      checksum: 'cac42b71792b10aa9109d00265aaae845adbfdec1a063dc31199552564824c87',
    },
    {
      name: '20261129100300_task_leases',
      checksum: 'adb49bef42dc273b33b5cb06150093f1af4c06b101eb1bb46ee784a0327dbd90',
    },
    {
      name: '20261129100400_push_notification_configs',
      checksum: '9cb23953564d4e147b4447becb78b32cda9220af0910414c3d17849e5b2afa1c',
    },
    {
      name: '20261130100000_task_list_indexes',
      checksum: '567ff1ae822635659294313081e32268d337183b7d765fb36908b3ff42fca3a8',
    },
    {
      name: '20261130110000_push_deliveries',
      checksum: 'b8899a1b04e233bb9f4ae12700a102cf64d2fc4bd07742c4fd1f47de1d316770',
    },
    {
      name: '20261130110100_push_positions',
      checksum: 'bed4b92e9bbfb7e1767176874319427df3cffbf42df9295d0ece311f6cefbcd8',
    },
    {
      name: '20261130120000_replicas',
      checksum: 'd40acae3e4855c306dedb1e731188ca6f6039c54b4075ad686c9393c7ebdeea6',
    },
    {
      name: '20261130120100_tasks_by_state',
      checksum: 'e9a31404e037ea6200cb252b4ea6fb670a4958e013f63bc66abfcdf76be89477',
    },
  ],
  postgresql: [
    {
      name: '20261129100000_tasks',
      checksum: '3979cf01149dc543e0b74a689dfb1f85bae6d917289a195d44f90917d5958c93',
    },
    {
      name: '20261129100100_task_snapshots',
      checksum: '32fd6d08f1590b3701c1854280598d4f527cf065e8d25b0fd039922183cb363c',
    },
    {
      name: '20261129100200_task_events',
      checksum: '059e37e01d7c6826774989905da416d24935fbc9f6ff9150598a61cb782b9099',
    },
    {
      name: '20261129100300_task_leases',
      checksum: 'a2d7f1874b34a5a701c8648c5242029d228db235b2a312cc4c22414d3e9d5bf5',
    },
    {
      name: '20261129100400_push_notification_configs',
      checksum: '2e756db5c4eebe44ae15b3a1c91c57ae672ba1b6d40168b606646e2d4742bff3',
    },
    {
      name: '20261130100000_task_list_indexes',
      checksum: '900125929974875e406066f02cbef76eb77f84c4c02250cef7d53dd35560cc6f',
    },
    {
      name: '20261130110000_push_deliveries',
      checksum: '19fd263bc8c1233f5fc893ce910364932ff6c9662fea79ea194858334f41f3e2',
    },
    {
      name: '20261130110100_push_positions',
      checksum: '3d7f271cb458ec5fd7721af2857fe256f47ea6252337be5653098eaadac81706',
    },
    {
      name: '20261130120000_replicas',
      checksum: 'eb110ff445a44faaf861f0962a0e99ccac9203b367394010c1e845aaea6c678b',
    },
    {
      name: '20261130120100_tasks_by_state',
      checksum: '44139defd2e9d725307d6a17f5767283e6c36c63395c7446f7de1bc4e2e3e12b',
    },
  ],
  mysql: [
    {
      name: '20261129100000_tasks',
      checksum: 'a9ae83230252bf5a9a9d80fa3a3a313e3f609a7f3ec9b082d725f39050fa533a',
    },
    {
      name: '20261129100100_task_snapshots',
      checksum: '456c126e5b5059acb5cb6b55e2b8024023c4fdce816156b2c55314976f043e76',
    },
    {
      name: '20261129100200_task_events',
      checksum: 'babdde56347e7786c43d3d6639e396b3cc0742c54b9da6874e3abcc4aa9ed64e',
    },
    {
      name: '20261129100300_task_leases',
      checksum: 'ef822acc197c7347770ad6bbbcf55f35c77f93241492919af8bc6ba11e0ed43d',
    },
    {
      name: '20261129100400_push_notification_configs',
      checksum: '55721aacc8870ea3a9896d1c0e997f7281a427e3cf52bfd533dacacfb0348294',
    },
    {
      name: '20261130100000_task_list_indexes',
      checksum: 'bb4ccd79f8aabb092dd54f8813023d092debe96a730c645382d14ff0d4476f9c',
    },
    {
      name: '20261130110000_push_deliveries',
      checksum: 'f5f7e552fb81ff2f905dfc0698eb4aea4ab90fdbf80624386755ab81e76c3a34',
    },
    {
      name: '20261130110100_push_positions',
      checksum: '153f6b3e85db221512b3fa14708d031f6b2855bc8d4fde764e111316215f85de',
    },
    {
      name: '20261130120000_replicas',
      checksum: '39ccfffefc8513c5766725651728952645a3400f7e20eae5ccf704f6ea90c467',
    },
    {
      name: '20261130120100_tasks_by_state',
      checksum: '21eb0f3befdec841d49b64335103325e7311b2df68f71a493e17046f4ae2a96c',
    },
  ],
};
