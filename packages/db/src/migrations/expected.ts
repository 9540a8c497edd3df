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
      checksum: '83afc0bd964e02fc100dcd3cb93454cc44b16b6ce33e2ea57f2212503df5c26b',
    },
    {
      name: '20261130120000_replicas',
      checksum: 'd498623d23ec67a041e44bfa9707d94f4630e6e1d2ecb2e9092207e2745f246f',
    },
    {
      name: '20261130120100_tasks_by_state',
      checksum: 'bca38500613011f8ee2403ff90ec77f75f159a0c216ec15d5738c3fdb29640a3',
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
      checksum: '378be8b10edf6efd6f777da0d4958b2da249571075ebc828502ef6b92c267295',
    },
    {
      name: '20261130120000_replicas',
      checksum: '37dff89fdc5c77abad5678d64b232030d3dbef69d4f3060f99870322978ef347',
    },
    {
      name: '20261130120100_tasks_by_state',
      checksum: 'e067cf33e5df82cb0ca6e693791b24b9908a86db528128a4436c5f6de1cd0ac5',
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
      checksum: '1aebee845e270cd1d9e2b40a1f2faafe2cc666f0f029f61379244b7a7c7243e6',
    },
    {
      name: '20261130120000_replicas',
      checksum: '706ff10bb51d421d1e1627ebc5f9b7627a8f07abf6f56f38c7c1fbc3b8cbee49',
    },
    {
      name: '20261130120100_tasks_by_state',
      checksum: '01a58555db76f05c7185b19b04b2189aa797b598446ae90a72f9e39825b25d2b',
    },
  ],
};
