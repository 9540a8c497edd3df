export { describeServiceStress, type CreateService } from './service-stress.js';
